// Overlay: the contents of a folder stay visible, and changes to it are temporary: they are kept in
// memory, where they can be listed. overlayfs in the kernel's documentation
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness::warden {

/// A name with a temporary change.
struct Change {
  std::string path;
  std::string what;  ///< "made", "changed", "removed"
  bool operator==(const Change&) const = default;
};

/// The first changes, and the number of further ones.
struct Changes {
  std::vector<Change> first = {};
  std::size_t more = 0;
};

class Overlay {
 public:
  /// Mounts over an absolute name. This process must have its own mount namespace. The overlay
  /// stays mounted.
  static Result<Overlay> over(const std::string& folder);

  /// In the order of names; a folder precedes its contents. A file that was opened for writing
  /// counts as changed. The contents of a removed folder do not count.
  void list(Changes& changes) const;

 private:
  explicit Overlay(std::string folder) noexcept;
  Status mount();
  void list_below(const std::string& folder, Changes& changes) const;

  std::string folder_;
  UniqueFd lower_;  ///< The contents before
  UniqueFd upper_;  ///< The changes since
};

}  // namespace lastref::harness::warden
