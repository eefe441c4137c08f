#include "harness/platform/folder.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> read(const std::string& folder, std::error_code& error) {
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(*at);
  }
  std::ranges::sort(
      entries, {}, [](const auto& each) -> auto& { return each.path().native(); });
  return entries;
}

void add_below(const std::string& folder,
               Unreadable folders,
               std::vector<fs::directory_entry>& into) {
  std::error_code error;
  std::vector<fs::directory_entry> entries = read(folder, error);
  if (error == std::errc::permission_denied && folders == Unreadable::are_opened) {
    fs::permissions(folder, fs::perms::owner_all, error);
    entries = read(folder, error);
  }
  into.insert(into.end(), entries.begin(), entries.end());
  for (const fs::directory_entry& each : entries) {
    if (!each.is_symlink(error) && each.is_directory(error)) {
      add_below(each.path(), folders, into);
    }
  }
}

}  // namespace

std::vector<fs::directory_entry> entries_of(const std::string& folder) {
  std::error_code ignored;
  return read(folder, ignored);
}

std::vector<fs::directory_entry> entries_below(const std::string& folder, Unreadable folders) {
  std::vector<fs::directory_entry> entries;
  add_below(folder, folders, entries);
  return entries;
}

}  // namespace lastref::harness
