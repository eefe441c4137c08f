// temp_folder: choice of the folder for temporary files, and deletion of folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref {

class References;

/// The in-memory file system that Linux has by default.
inline constexpr const char* shared_memory_folder = "/dev/shm";

/// Variables that name a folder for temporary files. The first one that is set counts.
inline constexpr const char* temp_folder_variables[] = {"LASTREF_TEMP_FOLDER",
                                                        "JOBLIB_TEMP_FOLDER"};

struct TempFolder {
  std::string path;             ///< Absolute.
  bool use_shared_mem = false;  ///< On shared memory, chosen by lastref.

  bool operator==(const TempFolder&) const = default;
};

struct TempFolderOptions {
  /// bytes; if no more than that is free, shared memory is the last location that is tried.
  std::uint64_t shared_memory_min = 2'000'000'000;
  /// False once it has failed: then it is the last one too.
  bool try_shared_memory = true;
  /// Registers the folder that is created to try a location, so that it is removed if this process
  /// is killed meanwhile. Null: it is left to remove_probes.
  References* references = nullptr;
};

/// Returns the path of `name` in the folder for temporary files, which is the first of:
/// - `root`, if it is given;
/// - the folder that a variable names;
/// - shared memory, if enough is free, and a folder can be created and removed there;
/// - the first of $TMPDIR, $TEMP, $TMP, /tmp, /var/tmp, /usr/tmp and the working folder in which a
///   folder can be created and removed, and in which other users may not rename it;
/// - shared memory with any free space.
/// "~" is $HOME. The folder itself is not created or checked.
///
/// Errors          no_such_file_or_directory: there is no usable folder; filename_too_long, with
///                 the limit; errors of working_folder, register_name, forget and release.
/// Crossings       environment, free_space, status_at, entropy, make_folder, remove_folder,
///                 working_folder.
/// Source          joblib _memmapping_reducer.py, _get_temp_dir; Python tempfile.py,
///                 _candidate_tempdir_list.
Result<TempFolder> temp_dir(os::Os& os,
                            const std::string& name,
                            const std::optional<std::string>& root,
                            const TempFolderOptions& options = {});

/// Returns `path` from the root of the file system, without "~", ".", ".." and doubled slashes.
/// Symlinks are not resolved.
///
/// Errors          filename_too_long, with the limit; errors of working_folder.
Result<std::string> absolute_path(os::Os& os, const std::string& path);

/// Whether `path` is on the in-memory file system, judging by its name.
bool is_on_shared_memory(const std::string& path) noexcept;

/// Deletes a folder, with its contents if `allow_non_empty`. Tries up to ten times, 0.1 s apart.
/// Succeeds if the path does not exist any more, or is no folder. Symlinks are not followed.
///
/// Errors          directory_not_empty, and other errors of the last attempt.
/// Crossings       remove_folder, poll; if the folder may have contents, also open, read_folder,
///                 unlink, close.
/// Source          joblib disk.py, delete_folder.
Status delete_folder(os::Os& os, const std::string& path, bool allow_non_empty);

/// Removes the folders that killed processes of this user have left while they tried a location.
///
/// Errors          those of opening or reading `location`; a missing location is no error.
Status remove_probes(os::Os& os, const std::string& location);

/// Returns the locations that temp_dir tries by default, shared memory first, as they are named.
std::vector<std::string> temp_locations(os::Os& os);

}  // namespace lastref
