// whole_file: writes a file atomically: it has the whole text, or what it had before.
#pragma once

#include <filesystem>
#include <string>

namespace lastref::perf {

/// Whether `write_whole` can begin, as far as is known without writing. Changes nothing.
bool is_writable(const std::filesystem::path& path);

/// Writes a new file in the same folder and renames it at the end. A path that is not a regular
/// file, such as /dev/stdout, is written to directly. False: the text could not be written
/// completely; the file is unchanged.
bool write_whole(const std::filesystem::path& path, const std::string& text);

}  // namespace lastref::perf
