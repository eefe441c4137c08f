// folder: what a folder contains. A file may be removed at any time; then it is left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lastref::harness {

/// The entries of a folder, in order of their names; none if it cannot be read.
std::vector<std::filesystem::directory_entry> entries_of(const std::string& folder);

enum class Unreadable { are_left_out, are_opened };

/// Everything below a folder: the entries of each folder, followed by those of the folders in it.
/// Folders without the right to read them may be given it; root needs none.
std::vector<std::filesystem::directory_entry> entries_below(
    const std::string& folder, Unreadable folders = Unreadable::are_left_out);

}  // namespace lastref::harness
