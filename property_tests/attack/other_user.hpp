// other_user: another user with the same /dev/shm and /tmp, which may do what it likes.
//
// The folders are file systems of their own in a mount namespace of our own, so that nothing is
// planted where other programs would find it.
#pragma once

#include <functional>
#include <string>

namespace lastref::pretend {

/// The uid of the other user: that of the user "nobody".
inline constexpr unsigned stranger = 65534;

/// Gives this process a /dev/shm and a /tmp of its own. Empty, or the reason why it is not
/// possible.
std::string have_own_folders();

/// Removes everything in them, and restores their modes.
void clear_own_folders();

/// Runs `deed` in a process of another user, without open descriptors. Returns its result.
bool stranger_does(const std::function<bool()>& deed);

// Actions for `deed`; true if the action succeeded.
bool make_folder(const std::string& path, unsigned mode);
bool make_file(const std::string& path, const std::string& text, unsigned mode = 0600);
bool make_symlink(const std::string& path, const std::string& target);
bool make_hard_link(const std::string& path, const std::string& target);
bool make_socket(const std::string& path);
/// One without an end: reading it gives zeros indefinitely.
bool make_device(const std::string& path);
bool change_mode(const std::string& path, unsigned mode);
/// A file system of that kind, until it is unmounted.
bool mount_at(const std::string& path, const char* kind, const std::string& options);
bool unmount(const std::string& path);
bool move(const std::string& from, const std::string& to);

/// A description of what is at a path: its kind, inode, owner, mode, and contents. Links are not
/// followed.
std::string seen_at(const std::string& path);

}  // namespace lastref::pretend
