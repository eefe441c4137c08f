// Overlay: what is in a folder stays to be seen, and no change of it lasts: it is kept in memory,
// where it can be listed. overlayfs of the kernel's documentation
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness::warden {

/// A name over which something has changed that does not last.
struct Change {
  std::string path;
  std::string what;  ///< "made", "changed", "removed"
  bool operator==(const Change&) const = default;
};

/// The first of them, and how many there are besides.
struct Changes {
  std::vector<Change> first = {};
  std::size_t more = 0;
};

class Overlay {
 public:
  /// Over an absolute name; this process has a mount namespace of its own.
  static Result<Overlay> over(const std::string& folder);
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  Overlay(Overlay&& other) noexcept;
  Overlay& operator=(Overlay&&) = delete;
  /// It stays mounted.
  ~Overlay();

  /// By their names, folders in front of what is in them. What was opened to be written counts as
  /// changed, and what is in a folder that is gone does not count.
  void list(Changes& changes) const;

 private:
  explicit Overlay(std::string folder) noexcept;
  Status mount();
  void list_below(const std::string& folder, Changes& changes) const;

  std::string folder_;
  int lower_ = -1;  ///< What was there before
  int upper_ = -1;  ///< What has changed since
};

}  // namespace lastref::harness::warden
