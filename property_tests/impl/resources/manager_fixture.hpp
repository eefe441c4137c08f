// ManagerFixture: a folder, an Os, a count and a manager, for tests of temporary files.
#pragma once

#include <memory>
#include <string>

#include <lastref/owners.hpp>
#include <lastref/temporary_resources.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/counts.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::pretend {

struct ManagerFixture {
  explicit ManagerFixture(bool attributed = true)
      : counts(attributed), parent(counts.party("parent")), worker(counts.party("worker")) {
    counts.real = [this](const std::string& path) { return os.real(path); };
    resources = make({.root = folder.path()});
  }

  std::unique_ptr<TemporaryResources> make(TemporaryResourcesOptions options) {
    return must(TemporaryResources::make(os, parent, std::move(options)));
  }
  /// Puts /dev/shm and /tmp into the test's folder, with a manager that chooses between them.
  void choose_between_two() {
    folder.make_folder("shm");
    folder.make_folder("tmp");
    os.mounts = {{"/dev/shm", folder.path("shm")}, {"/tmp", folder.path("tmp")}};
    os.free = UINT64_MAX;
    // The path of the folder itself must go through the mounts only once.
    os.mounts[folder.path()] = folder.path();
    resources = make({});
  }
  void remove_both() const {
    folder.remove("shm");
    folder.remove("tmp");
  }

  Status write(os::Fd fd, const std::string& text = "x") {
    return os::write_all(os, fd, os::bytes_of(text));
  }
  Result<std::shared_ptr<const TemporaryFile>> publish(const std::string& text = "x") {
    return resources->publish([this, text](os::Fd fd) { return write(fd, text); });
  }

  FreshFolder folder;
  DirectedOs os;
  Counts counts;
  std::shared_ptr<References> parent;
  std::shared_ptr<References> worker;
  std::shared_ptr<TemporaryResources> resources;
};

inline Resource file_at(const std::string& path) {
  return {.type = ResourceType::file, .name = path};
}

}  // namespace lastref::pretend
