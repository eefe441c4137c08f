// whole_file: a file that has all of a text, or what it had before.
#pragma once

#include <filesystem>
#include <string>

namespace lastref::perf {

/// Whether `write_whole` can begin, as far as can be known without writing. Changes nothing.
bool is_writable(const std::filesystem::path& path);

/// Writes a new file beside it, which takes its place at the end. What is no file, as /dev/stdout,
/// is written to as it is. False: not all of it could be written; the file is as it was.
bool write_whole(const std::filesystem::path& path, const std::string& text);

}  // namespace lastref::perf
