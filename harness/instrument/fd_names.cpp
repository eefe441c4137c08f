#include "harness/instrument/fd_names.hpp"

#include <algorithm>
#include <iterator>

#include "harness/journal/record.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t tree_digits = 32;
constexpr std::size_t first_free = 3;

bool is_hex(char each) noexcept {
  return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
}

}  // namespace

std::string_view object_of(std::string_view path) noexcept {
  while (path.size() > 1 && path.back() == '/') {
    path.remove_suffix(1);
  }
  const std::size_t slash = path.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (last.size() == tree_digits && std::ranges::all_of(last, is_hex)) {
    return "tree";
  }
  return last;
}

FdNames::FdNames() {
  entries_.resize(64);
  entries_[0].name = "stdin";
  entries_[1].name = "stdout";
  entries_[2].name = "stderr";
}

std::string_view FdNames::kept(std::string_view text) {
  if (const auto found = known_.find(text); found != known_.end()) {
    return found->second;
  }
  const std::string& made = texts_.emplace_back(text);
  known_.emplace(made, made);
  return made;
}

FdNames::Entry& FdNames::entry(os::Fd fd) {
  const int number = static_cast<int>(fd);
  if (number < 0) {
    return none_ = {};
  }
  const auto at = static_cast<std::size_t>(number);
  if (at >= entries_.size()) {
    entries_.resize(at + 64);
  }
  return entries_[at];
}

void FdNames::open(os::Fd fd, std::string_view name, std::string_view path) {
  const std::scoped_lock held(mutex_);
  entry(fd) = {.name = kept(name), .path = kept(path), .open = true};
}

void FdNames::close(os::Fd fd) noexcept {
  const std::scoped_lock held(mutex_);
  entry(fd).open = false;
}

void FdNames::rename(os::Fd fd, std::string_view name) {
  const std::scoped_lock held(mutex_);
  entry(fd).name = kept(name);
}

std::string_view FdNames::name_of(os::Fd fd) {
  const std::scoped_lock held(mutex_);
  return entry(fd).name;
}

std::string_view FdNames::path_of(os::Fd fd) {
  const std::scoped_lock held(mutex_);
  return entry(fd).path;
}

std::string FdNames::path_of(const os::Place& place) {
  if (place.folder == os::Fd::current_folder || place.path.starts_with('/')) {
    return place.path;
  }
  const std::scoped_lock held(mutex_);
  return std::string(entry(place.folder).path) + '/' + place.path;
}

void FdNames::move(std::string_view from, std::string_view to) {
  const std::scoped_lock held(mutex_);
  for (Entry& each : entries_) {
    if (!each.path.starts_with(from)) {
      continue;
    }
    const std::string_view below = each.path.substr(from.size());
    if (below.empty() || below.starts_with('/')) {
      each.path = kept(std::string(to).append(below));
    }
  }
}

std::vector<std::string> FdNames::still_open() {
  const std::scoped_lock held(mutex_);
  std::vector<std::string> names;
  for (std::size_t at = first_free; at < entries_.size(); ++at) {
    if (entries_[at].open) {
      names.emplace_back(entries_[at].name);
    }
  }
  // By name: where they lie is chance.
  std::vector<std::string> maps;
  for (const auto& [at, name] : maps_) {
    maps.push_back("map:" + std::string(name));
  }
  std::ranges::sort(maps);
  std::ranges::move(maps, std::back_inserter(names));
  return names;
}

void FdNames::map(os::Bytes mapped, std::string_view name) {
  const std::scoped_lock held(mutex_);
  maps_.emplace(mapped.data(), kept(name));
}

void FdNames::unmap(os::Bytes mapped) noexcept {
  const std::scoped_lock held(mutex_);
  if (const auto found = maps_.find(mapped.data()); found != maps_.end()) {
    maps_.erase(found);
  }
}

std::string_view FdNames::name_of(os::Bytes mapped) {
  const std::scoped_lock held(mutex_);
  const auto found = maps_.find(mapped.data());
  return found == maps_.end() ? std::string_view() : found->second;
}

std::string_view FdNames::joined(std::string_view prefix, std::string_view rest) {
  const std::scoped_lock held(mutex_);
  return kept(std::string(prefix) + std::string(rest));
}

std::uint32_t FdNames::count(std::string_view place, std::string_view object) {
  const std::scoped_lock held(mutex_);
  // Both hashes are of short words of one run; a collision would merge two counts, the same each
  // run.
  return ++counts_[hash_of(place) * 31 + hash_of(object)];
}

}  // namespace lastref::harness
