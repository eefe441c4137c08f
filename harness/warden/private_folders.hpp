// private_folders: folders that belong to this process alone, and are empty, while it and its
// children run. Leftovers in them affect no other process, and a small one really becomes full.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

#include "harness/warden/overlay.hpp"

namespace lastref::harness::warden {

inline constexpr std::string_view own_pids = "pid";

struct PrivateFolder {
  /// "ipc": no folder, but System V objects and message queues. "pid": neither, but process
  /// numbers; the pid namespace is created when the program is started.
  std::string path;
  std::string size;         ///< In bytes, as tmpfs takes it: "64k"; empty: no limit of its own
  std::string inodes = {};  ///< The same for the number of names
  /// The contents stay visible, and changes are temporary.
  bool is_overlay = false;
  bool operator==(const PrivateFolder&) const = default;
};

/// A folder, and the number of names in it that existed before and are hidden now.
struct HiddenNames {
  std::string folder;
  std::size_t count = 0;
};

struct PrivateWorld {
  std::vector<HiddenNames> hidden = {};
  std::vector<Overlay> overlays = {};
};

/// Parses "/tmp", "/tmp=64k" or "/tmp=64k,10": a folder, bytes, inodes; "/home=overlay"; or "ipc",
/// "pid".
Result<PrivateFolder> parse_private_folder(std::string_view text);

/// Mounts them for this process and all that it starts from now on, in its own mount namespace. A
/// process that is not root becomes root of a user namespace for that, with the same rights as
/// before.
Result<PrivateWorld> make_private(const std::vector<PrivateFolder>& folders);

/// The same, as if the folders had not been private yet: what was written to them is not in the new
/// ones. The old world can still be listed.
Result<PrivateWorld> make_private_again(const std::vector<PrivateFolder>& folders);

}  // namespace lastref::harness::warden
