// Fixture: the process tree of one test, with folders of its own. Nothing of the tree may remain.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <lastref/backend.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/parallel.hpp>
#include <lastref/worker.hpp>

#include "property_tests/impl/backends/functions.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref {

void PrintTo(const Value& value, std::ostream* out);
void PrintTo(const TaskFailure& failure, std::ostream* out);
void PrintTo(BackendKind kind, std::ostream* out);

}  // namespace lastref

namespace lastref::pretend {

/// Larger arrays are sent through files.
inline constexpr std::uint64_t small_nbytes = 1000;

class Fixture {
 public:
  Fixture();
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  /// Waits for all processes. Backends must have been destroyed before.
  ~Fixture();

  std::shared_ptr<ParallelBackend> make(BackendKind kind) const;
  BackendOptions options(int n_jobs) const;
  ParallelOptions parallel(BackendKind kind, int n_jobs) const;

  std::string mark(const std::string& name) const { return folder.path("marks/" + name); }
  void make_mark(const std::string& name) const { folder.write("marks/" + name); }
  bool has_mark(const std::string& name) const { return folder.exists("marks/" + name); }
  void wait_for_mark(const std::string& name) const {
    until([&] { return has_mark(name); });
  }
  /// Files of arrays that are being sent.
  std::vector<std::string> files() const;

  FreshFolder folder;
  os::KernelOs os{{.program = this_program}};
  Session session;
  std::shared_ptr<const Functions> functions = test_functions();
};

/// The resources of this process.
struct Belongings {
  std::set<os::Pid> children;
  std::size_t descriptors = 0;
  std::size_t threads = 0;

  bool operator==(const Belongings&) const = default;
};
void PrintTo(const Belongings& belongings, std::ostream* out);
Belongings belongings();
std::set<os::Pid> children();

/// The value; if there is none, a failed test that shows the failure.
template <typename T>
T must_be(Outcome<T> outcome) {
  if (!outcome) {
    throw std::runtime_error(describe(outcome.error()));
  }
  return *std::move(outcome);
}

/// The code of a failure that is an Error; none if it is something else.
template <typename T>
std::errc code_of(const Outcome<T>& outcome) {
  const Error* error = outcome ? nullptr : std::get_if<Error>(&outcome.error());
  return error == nullptr ? std::errc{} : error->code;
}

/// An array of that many bytes, all equal.
Array array_of(std::size_t size, int value = 1);

}  // namespace lastref::pretend
