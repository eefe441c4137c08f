// temp_folder: where temporary files go, and how their folders go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref {

class References;

/// The file system in memory that Linux has by default.
inline constexpr const char* shared_memory_folder = "/dev/shm";

/// The variables that name a folder for temporary files, the first that is set.
inline constexpr const char* temp_folder_variables[] = {"LASTREF_TEMP_FOLDER",
                                                        "JOBLIB_TEMP_FOLDER"};

struct TempFolder {
  std::string path;             ///< Absolute.
  bool use_shared_mem = false;  ///< Chosen by us, on shared memory.

  bool operator==(const TempFolder&) const = default;
};

struct TempFolderOptions {
  /// bytes; with no more than that free, shared memory is the last location that is tried.
  std::uint64_t shared_memory_min = 2'000'000'000;
  /// False once it has failed: then it is the last one, too.
  bool try_shared_memory = true;
  /// Who is told of the folder that is made to try a location, so that it goes with us if we are
  /// killed meanwhile; none: it stays for remove_probes.
  References* references = nullptr;
};

/// `name` in the folder for temporary files: in `root` if it is given; else in the one that a
/// variable names; else on shared memory if there is enough, and a folder can be made and removed;
/// else in the first of $TMPDIR, $TEMP, $TMP, /tmp, /var/tmp, /usr/tmp and the working folder where
/// that can be done, and where nobody else may rename what is ours; else on shared memory with any
/// free space. "~" is $HOME. What is in a way with the folder itself, nobody asks: nothing is
/// created that stays.
///
/// Errors          no_such_file_or_directory: there is no usable folder; filename_too_long, with
///                 the limit; what working_folder said, and register_name, forget and release.
/// Crossings       environment, free_space, status_at, entropy, make_folder, remove_folder,
///                 working_folder.
/// Source          joblib _memmapping_reducer.py, _get_temp_dir; Python tempfile.py,
///                 _candidate_tempdir_list.
Result<TempFolder> temp_dir(os::Os& os,
                            const std::string& name,
                            const std::optional<std::string>& root,
                            const TempFolderOptions& options = {});

/// `path` from the root of the file system, without "~", ".", ".." and doubled slashes. Symlinks
/// are not looked at.
///
/// Errors          filename_too_long, with the limit; what working_folder said.
Result<std::string> absolute_path(os::Os& os, const std::string& path);

/// Whether `path` lies on the file system in memory, as far as its name tells.
bool is_on_shared_memory(const std::string& path) noexcept;

/// Deletes a folder, with what is in it if that is allowed; tries up to ten times, 0.1 s apart.
/// One that has vanished, or is no folder, is fine. Symlinks are not followed.
///
/// Errors          directory_not_empty, and what else the last attempt met.
/// Crossings       remove_folder, poll; and if it may have something in it open, read_folder,
///                 unlink, close.
/// Source          joblib disk.py, delete_folder.
Status delete_folder(os::Os& os, const std::string& path, bool allow_non_empty);

/// Removes the folders that a killed process of ours has left while it looked for a location.
///
/// Errors          what opening or reading `location` said; that it is not there is none.
Status remove_probes(os::Os& os, const std::string& location);

/// The locations where temp_dir looks by itself, shared memory first, as they are named.
std::vector<std::string> temp_locations(os::Os& os);

}  // namespace lastref
