// owned_file: where the files of caches are, and how they are removed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <lastref/owners.hpp>
#include <lastref/references.hpp>

namespace lastref::cache {

/// Returns the error with the path of the file instead of a descriptor. An error that has no call
/// is returned unchanged.
tl::unexpected<Error> failure_at(Error error, const std::string& path);

/// The folder for files of caches, absolute, as it is configured now: `wanted`, or by default
/// $XDG_CACHE_HOME/lastref, or ~/.cache/lastref. Nothing is made.
///
/// Errors          no_such_file_or_directory: no folder is configured; filename_too_long, with the
///                 limit.
/// Source          XDG Base Directory Specification; pfio cache, _default_cache_path.
Result<std::string> wanted_folder(os::Os& os, const std::optional<std::string>& wanted);

/// Returns the folder for files of caches, absolute, and creates it if it does not exist. It is
/// `wanted`, or by default $XDG_CACHE_HOME/lastref, or ~/.cache/lastref.
///
/// Errors          as wanted_folder; not_supported: it is on a network; not_a_directory;
///                 permission_denied: any user may replace its contents; of make_folder, status_at
///                 and file_system.
/// Source          pfio cache, _check_local.
Result<std::string> cache_folder(os::Os& os, const std::optional<std::string>& wanted);

/// A path in the folder.
///
/// Errors          invalid_argument: `name` is no name of a file; filename_too_long, with the
///                 limit.
Result<std::string> path_in(const std::string& folder, const std::string& name);

/// A file that this process has made, and that is removed with the object or after the process: its
/// name was counted before the file existed. One thread at a time. A forked child does not own it.
class OwnedFile {
 public:
  /// Creates an empty file, 0600, with a random name that starts with the pid and ends in `ending`.
  /// Next to it, creates a file with a lock that shows that this process is alive: see sweep.hpp.
  ///
  /// Errors          of entropy, register_name, open and lock_range; nothing remains.
  static Result<OwnedFile> make(os::Os& os,
                                std::shared_ptr<References> references,
                                const std::string& folder,
                                const char* ending);

  /// Makes an empty file, 0600, without a lock.
  ///
  /// Errors          of register_name and open; nothing is left.
  static Result<OwnedFile> make_at(os::Os& os,
                                   std::shared_ptr<References> references,
                                   std::string path) {
    return create(os, std::move(references), std::move(path), /*is_lock=*/false);
  }

  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  OwnedFile(OwnedFile&& other) noexcept = default;
  OwnedFile& operator=(OwnedFile&& other) = delete;
  ~OwnedFile() { remove_quietly(); }

  const std::string& path() const noexcept { return reference_.resource().name; }
  /// May be called once: the file, open for writing.
  os::UniqueFd take_open() noexcept { return std::move(open_); }
  /// Its name without folder and ending.
  std::string base() const;
  /// Whether this process created it; false in a forked child.
  bool is_ours() const noexcept { return os_->process_token() == token_; }

  /// Removes the name, if it is still that of this file, and gives up the file. A second call does
  /// nothing.
  ///
  /// Errors          of unlink or release: the tracker tries again.
  Status remove() noexcept;
  /// The same, but reports an error on standard error.
  void remove_quietly() noexcept;
  /// The name was given away by a rename: nothing is to be removed.
  void release_ownership() noexcept;

 private:
  OwnedFile(os::Os& os, std::shared_ptr<References> references, std::string path)
      : os_(&os),
        references_(std::move(references)),
        where_(std::move(path)),
        token_(os.process_token()) {}
  static Result<OwnedFile> create(os::Os& os,
                                  std::shared_ptr<References> references,
                                  std::string path,
                                  bool is_lock);
  Status open_new();
  static Result<OwnedFile> make_lock(os::Os& os,
                                     const std::shared_ptr<References>& references,
                                     const std::string& folder);
  Status remove_name() noexcept;

  os::Os* os_;
  std::shared_ptr<References> references_;
  os::PathAt where_;  // the path, stored so that removing it needs no memory
  Reference reference_;
  os::UniqueFd open_;
  os::FileStatus status_;
  std::uint64_t token_;
  bool is_lock_ = false;
  std::unique_ptr<OwnedFile> lock_ = {};  // stays open while the file has its name
};

struct PublishOptions {
  bool overwrite = false;
  bool is_durable =
      false;  ///< The file is on its device before it has its name, and then the name.
};

/// Makes a new file `path`, with what `write` writes: at every instant it is unchanged, or
/// completely new. False if the name exists, and not `overwrite`.
///
/// Errors          of OwnedFile::make, `write`, sync, close and renaming: nothing is left. Of
///                 syncing the folder: the file is there, and its name may not survive.
Result<bool> publish(os::Os& os,
                     const std::shared_ptr<References>& references,
                     const std::string& path,
                     const PublishOptions& options,
                     const std::function<Status(os::Fd)>& write);

}  // namespace lastref::cache
