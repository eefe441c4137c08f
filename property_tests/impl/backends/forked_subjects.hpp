// forked_subjects: each object that threads may share, as a thread and a forked child use it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lastref/references.hpp>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/gate_os.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref::forked {

/// References without a tracker: a process may release only its own.
class OwnReferences final : public References {
 public:
  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>&) override {
    return hold(resource);
  }
  Status hold(const Resource& resource) override {
    const std::lock_guard held(guard_);
    held_.insert(resource.name);
    return ok();
  }
  Status release(const Resource& resource) override { return end(resource); }
  Status forget(const Resource& resource) override { return end(resource); }
  bool is_attributed() const noexcept override { return true; }

  /// A copy of the process holds nothing.
  void start_in_copy() { held_.clear(); }
  /// Called for a release of a name that was not held.
  std::function<void()> not_held;

 private:
  Status end(const Resource& resource) {
    const std::lock_guard held(guard_);
    const auto found = held_.find(resource.name);
    if (found == held_.end()) {
      not_held();
      return ok();
    }
    held_.erase(found);
    return ok();
  }

  std::mutex guard_;  // Never held where a thread is stopped.
  std::multiset<std::string> held_;
};

/// The parts that objects need.
struct World {
  World() {
    pretend::adopt_orphans();
    folder.make_folder("files");
    pretend::set_variable("LASTREF_RUNTIME_FOLDER", folder.path("runtime"));
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    pretend::bury_all();
    pretend::set_variable("LASTREF_RUNTIME_FOLDER", "");
    for (const char* name : {"kept", "mark", "mapped.npy", "files", "runtime"}) {
      if (folder.exists(name)) {
        folder.remove(name);
      }
    }
  }

  std::string file() const { return folder.path("mapped.npy"); }

  pretend::FreshFolder folder;
  pretend::GateOs os;
  std::shared_ptr<OwnReferences> references = std::make_shared<OwnReferences>();
};

struct Method {
  std::string name;  ///< In parentheses: an operation on the object that is no method.
  std::function<std::errc()> call;
};

/// An object in a state in which each of its methods has something to do.
struct Subject {
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;
  /// Lets methods that wait return.
  virtual void end_wait() {}

  std::vector<Method> methods;
};

struct Row {
  std::string object;
  /// The classes with these public methods, and their headers.
  std::vector<std::pair<std::string, std::string>> classes;
  std::unique_ptr<Subject> (*make)(World&);
  bool has_threads_in_child = false;
};

void PrintTo(const Row& row, std::ostream* out);

/// All of them.
std::span<const Row> every_row();

}  // namespace lastref::forked
