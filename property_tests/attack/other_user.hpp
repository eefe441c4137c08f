// other_user: another user, at the same /dev/shm and /tmp as we are, and free to do what it likes.
//
// The folders are file systems of their own in a mount namespace of our own, so that nothing is
// planted where others would find it.
#pragma once

#include <functional>
#include <string>

namespace lastref::pretend {

/// The user that strangers are: nobody.
inline constexpr unsigned stranger = 65534;

/// This process has a /dev/shm and a /tmp of its own from now on. Empty, or what is missing for it.
std::string have_own_folders();

/// Removes all that is in them, and gives them the modes that they had.
void clear_own_folders();

/// Another process, of another user and with nothing open, does it. Whether it says so.
bool stranger_does(const std::function<bool()>& deed);

// Words for deeds; true if it was done.
bool make_folder(const std::string& path, unsigned mode);
bool make_file(const std::string& path, const std::string& text, unsigned mode = 0600);
bool make_symlink(const std::string& path, const std::string& target);
bool make_hard_link(const std::string& path, const std::string& target);
bool make_socket(const std::string& path);
/// One that never ends: reading it gives zeros for ever.
bool make_device(const std::string& path);
bool change_mode(const std::string& path, unsigned mode);
/// A file system of that kind, until it is unmounted.
bool mount_at(const std::string& path, const char* kind, const std::string& options);
bool unmount(const std::string& path);
bool move(const std::string& from, const std::string& to);

/// What there is at a path: its kind, inode, owner, mode, and what is in it. Links are not
/// followed.
std::string seen_at(const std::string& path);

}  // namespace lastref::pretend
