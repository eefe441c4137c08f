#include "harness/instrument/fd_names.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

#include "harness/journal/record.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t tree_digits = 32;
constexpr std::size_t first_free = 3;
constexpr std::size_t contexts_max = 256;  // of a program; further ones have no name

bool is_hex(char each) noexcept {
  return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
}

bool is_chance(std::string_view text) noexcept {
  return text.size() == tree_digits && std::ranges::all_of(text, is_hex);
}

/// Removes a prefix, if it is there.
bool take(std::string_view& text, std::string_view prefix) noexcept {
  const bool is_there = text.starts_with(prefix);
  text.remove_prefix(is_there ? prefix.size() : 0);
  return is_there;
}

/// Removes a decimal number and the character after it, if they are there.
bool take_number(std::string_view& text, char sign) noexcept {
  const std::size_t end = text.find_first_not_of("0123456789");
  const bool is_there = end != std::string_view::npos && end > 0 && text[end] == sign;
  text.remove_prefix(is_there ? end + 1 : 0);
  return is_there;
}

/// "array" for a name like 12-34-<32 hex>.npy, "array.part" for one with .part at the end; else
/// empty.
std::string_view name_of_array(std::string_view name) noexcept {
  const bool has_process = take_number(name, '-');
  const bool has_thread = has_process && take_number(name, '-');
  if (!has_thread || !is_chance(name.substr(0, tree_digits))) {
    return {};
  }
  name.remove_prefix(tree_digits);
  return name == ".npy" ? "array" : name == ".npy.part" ? "array.part" : "";
}

/// "cache.lock" for a name like 12-<32 hex>.lock, and so on for the other files of a cache; else
/// empty.
std::string_view name_of_cache(std::string_view name) noexcept {
  if (!take_number(name, '-') || !is_chance(name.substr(0, tree_digits))) {
    return {};
  }
  name.remove_prefix(tree_digits);
  return name == ".cache"  ? "cache"
         : name == ".lock" ? "cache.lock"
         : name == ".part" ? "cache.part"
                           : "";
}

/// A name that is kept until the program ends.
struct Kept {
  enum State : std::uint8_t { free, being_written, whole };
  std::atomic<State> state = free;
  ObjectText name;
};

/// "arrays:<context>". There are few contexts; one that finds no free place has no name. Not on the
/// heap, which a simulated run takes back.
std::string_view name_of_context(std::string_view context) noexcept {
  static std::array<Kept, contexts_max> names;
  const ObjectText wanted("arrays:" + std::string(context));
  for (Kept& each : names) {
    Kept::State found = Kept::free;
    if (each.state.compare_exchange_strong(found, Kept::being_written)) {
      each.name = wanted;
      each.state = Kept::whole;
      return each.name.view();
    }
    // A name that is being written is added again: two entries with one name do no harm.
    if (found == Kept::whole && each.name == wanted.view()) {
      return each.name.view();
    }
  }
  return "arrays";
}

/// Whether the folder is one of trees, and not a cache of values by key.
bool is_of_trees(std::string_view folder) noexcept {
  const std::string_view last = folder.substr(folder.rfind('/') + 1);  // npos + 1 is 0.
  return last == "runtime" || last.starts_with("lastref-");
}

/// For a name like lastref_memmapping_folder_12_<32 hex>_<context>; else empty.
std::string_view name_of_arrays(std::string_view name) noexcept {
  if (!take(name, "lastref_memmapping_folder_") || !take_number(name, '_') ||
      !is_chance(name.substr(0, tree_digits)) || name.substr(tree_digits, 1) != "_") {
    return {};
  }
  const std::string_view context = name.substr(tree_digits + 1);
  return context.empty() || is_chance(context) ? "arrays" : name_of_context(context);
}

}  // namespace

std::string_view object_of(std::string_view path) noexcept {
  while (path.size() > 1 && path.back() == '/') {
    path.remove_suffix(1);
  }
  const std::size_t slash = path.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (is_chance(last)) {
    return is_of_trees(path.substr(0, slash == std::string_view::npos ? 0 : slash)) ? "tree"
                                                                                    : "entry";
  }
  if (is_chance(last.substr(0, tree_digits)) && last.substr(tree_digits) == ".part") {
    return "entry.part";
  }
  if (std::string_view probe = last; take(probe, "lastref_probe_") && is_chance(probe)) {
    return "probe";
  }
  if (const std::string_view array = name_of_array(last); !array.empty()) {
    return array;
  }
  if (const std::string_view cache = name_of_cache(last); !cache.empty()) {
    return cache;
  }
  const std::string_view arrays = name_of_arrays(last);
  return arrays.empty() ? last : arrays;
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
  const std::string_view made = texts_.emplace_back(text);
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
  Entry& closed = entry(fd);
  if (closed.open && closed.is_child) {
    zombies_.push_back(closed.name);
  }
  closed.open = false;
}

void FdNames::is_child(os::Fd fd) {
  const std::scoped_lock held(mutex_);
  entry(fd).is_child = true;
}

void FdNames::is_reaped(os::Fd fd) noexcept {
  const std::scoped_lock held(mutex_);
  entry(fd).is_child = false;
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

std::string FdNames::path_of(const os::PathAt& where) {
  if (where.folder == os::Fd::current_folder || where.path.starts_with('/')) {
    return where.path;
  }
  const std::scoped_lock held(mutex_);
  return std::string(entry(where.folder).path) + '/' + where.path;
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
  // Sorted by name: their addresses are random.
  std::vector<std::string> maps;
  for (const auto& [at, mapped] : maps_) {
    maps.push_back("map:" + std::string(mapped.name));
  }
  std::ranges::sort(maps);
  std::ranges::move(maps, std::back_inserter(names));
  for (const std::string_view name : zombies_) {
    names.push_back("child:" + std::string(name));
  }
  return names;
}

void FdNames::map(os::Bytes mapped, std::string_view name) {
  const std::scoped_lock held(mutex_);
  maps_.emplace(mapped.data(), Mapped{.name = kept(name), .size = mapped.size()});
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
  return found == maps_.end() ? std::string_view() : found->second.name;
}

std::uint64_t FdNames::mapped() {
  const std::scoped_lock held(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [at, mapped] : maps_) {
    sum += mapped.size;
  }
  return sum;
}

std::string_view FdNames::joined(std::string_view prefix, std::string_view rest) {
  const std::scoped_lock held(mutex_);
  return kept(std::string(prefix) + std::string(rest));
}

std::uint32_t FdNames::count(std::string_view name, std::string_view object) {
  const std::scoped_lock held(mutex_);
  // Both hashes are of short words of one run. A collision would merge two counts, in the same way
  // in each run.
  return ++counts_[hash_of(name) * 31 + hash_of(object)];
}

}  // namespace lastref::harness
