// private_folders: folders that are this process's own, and empty, while it and its children run:
// what they leave there is nobody else's, and a small one is really full.
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
  /// "ipc": no folder, but System V's objects and message queues; "pid": neither, but numbers of
  /// processes, whose namespace they get from who starts them.
  std::string path;
  std::string size;         ///< bytes, as tmpfs takes it: "64k"; empty: no limit of its own
  std::string inodes = {};  ///< The same for names
  /// What is in it stays to be seen, and no change lasts.
  bool is_overlay = false;
  bool operator==(const PrivateFolder&) const = default;
};

/// Names of others that are in a folder, and cannot be seen there now.
struct HiddenNames {
  std::string folder;
  std::size_t count = 0;
};

struct PrivateWorld {
  std::vector<HiddenNames> hidden = {};
  std::vector<Overlay> overlays = {};
};

/// Of "/tmp", "/tmp=64k" or "/tmp=64k,10": a folder, bytes, inodes; "/home=overlay"; or of "ipc",
/// "pid".
Result<PrivateFolder> parse_private_folder(std::string_view text);

/// Mounts them for this process and all that it starts from here on, in a mount namespace of its
/// own; who is not root becomes root of a user namespace for that, with the same rights as before.
Result<PrivateWorld> make_private(const std::vector<PrivateFolder>& folders);

}  // namespace lastref::harness::warden
