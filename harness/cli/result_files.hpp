// result_files: the folders of --output, and the files in them. Errors are sentences for the user,
// and begin with the path.
#pragma once

#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref::harness {

std::string path_in(const std::string& folder, std::string_view name);

/// Errors          those of the file system; invalid_argument: it is no folder.
Status check_folder(const std::string& path);
/// The folder, and those above it, unless they exist.
///
/// Errors          as above
Status make_folder(const std::string& path);

/// Errors          no_such_file_or_directory: there is none, or it is another kind of file, which
///                 may wait; invalid_argument: it is too large, or cannot be read.
Result<std::string> read_whole(const std::string& path);
/// Errors          those of the file system
Status write_file(const std::string& path, std::string_view text);
/// The file has the whole text, or there is none.
///
/// Errors          those of the file system
Status write_at_once(const std::string& path, std::string_view text);

}  // namespace lastref::harness
