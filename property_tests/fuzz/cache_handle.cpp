// cache_handle: the text by which a process attaches the cache of another, and the file that it
// names.
//
// The input has the text, which ends where its line ends, and then the file.
#include <algorithm>
#include <charconv>

#include <lastref/slot_cache.hpp>

#include "property_tests/fuzz/file_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

/// bytes; how much longer all puts of a check may make the file, so that maps still show all of it.
constexpr std::size_t growth_most = 1024;
/// This many slots are read.
constexpr std::uint64_t slots_most = 16;

/// "<kind>:<which>:<path>"; all empty without two colons.
struct Parts {
  std::string_view kind;
  std::string_view which;
  std::string_view path;
};

Parts parts_of(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) {
    return {};
  }
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos) {
    return {};
  }
  return {.kind = text.substr(0, first),
          .which = text.substr(first + 1, second - first - 1),
          .path = text.substr(second + 1)};
}

/// An attached cache can be attached by its own handle.
std::string expect_handle(const MultiprocessFileCache& cache, const std::string& text) {
  std::string again = cache.handle();
  const Parts asked = parts_of(text);
  const Parts given = parts_of(again);
  expect(given.kind == asked.kind, "a handle is of the same kind");
  expect(given.path == asked.path, "a handle is of the same file");
  expect(asked.path.starts_with('/'), "a handle is the same wherever it is used");
  if (asked.kind == "live") {
    expect(again == text, "a handle of a live cache is the same");
    return again;
  }
  expect(asked.kind == "preserved", "there are two kinds of handles");
  expect(given.which == std::to_string(cache.size()), "a handle has the number of slots");
  std::uint64_t length = 0;
  std::from_chars(asked.which.begin(), asked.which.end(), length);
  expect(length == cache.size(), "a cache has the slots that were asked for");
  return again;
}

void expect_values(MultiprocessFileCache& cache) {
  for (std::uint64_t slot = 0; slot < std::min(cache.size(), slots_most); ++slot) {
    const auto copied = cache.get(slot);
    const auto viewed = cache.view(slot);
    const auto checked = cache.get_checked(slot);
    expect(copied.has_value() == viewed.has_value(), "get and view agree");
    if (!copied) {
      expect_refused(copied.error(), std::errc::bad_message);
      expect_refused(viewed.error(), std::errc::bad_message);
      continue;
    }
    expect(checked.has_value(), "what can be had can be read");
    expect(*checked == *copied, "get and get_checked agree");
    expect(viewed->has_value() == copied->has_value(), "get and view agree");
    expect(!*copied || std::ranges::equal((*viewed)->bytes, **copied), "get and view agree");
  }
}

/// Calls that only the maker of a cache may make, and calls that are always refused.
void expect_refusals(MultiprocessFileCache& cache) {
  const auto beyond = cache.get(cache.size());
  expect(!beyond, "there is no slot after the last");
  expect_refused(beyond.error(), std::errc::result_out_of_range);
  const auto preserved = cache.preserve("name", /*overwrite=*/true);
  expect(!preserved, "an attached cache cannot be preserved");
  expect_refused(preserved.error(), std::errc::operation_not_permitted);
  const auto preloaded = cache.preload("name");
  expect(!preloaded, "an attached cache cannot load another one");
  expect_refused(preloaded.error(), std::errc::operation_not_permitted);
}

void expect_attached(FileOs& os, MultiprocessFileCache& cache, bool is_live) {
  expect(cache.size() > 0, "a cache has slots");
  expect_values(cache);
  expect_refusals(cache);
  const std::vector<std::byte> value(3, std::byte{'x'});
  const auto put = cache.put(0, value);
  expect(put.has_value(), "what cannot be put is no error");
  expect(is_live || !*put, "a preserved cache is frozen");
  if (*put) {
    const auto found = cache.get(0);
    expect(found.has_value(), "a value that was put can be had");
    expect(*found == value, "a value that was put is there");
  }
  expect(is_live || os.written == 0, "nothing is written to a preserved cache");
}

}  // namespace

void check(os::Bytes input) {
  const std::string_view all = text_of(input);
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string text(all.substr(0, end));
  FileOs os(input.subspan(std::min(end + 1, all.size())));
  os.grows = true;
  os.size_most = os.content().size() + growth_most;
  const auto attach = [&](const std::string& handle) {
    return in_proportion(input, [&] { return MultiprocessFileCache::attach(os, handle); });
  };
  std::string handle;
  if (auto cache = attach(text)) {
    handle = expect_handle(**cache, text);
    expect_attached(os, **cache, text.starts_with("live:"));
    expect((*cache)->close().has_value(), "an attached cache can be closed");
    expect((*cache)->handle().empty(), "a closed cache has no handle");
    const auto closed = (*cache)->get(0);
    expect(closed.has_value() && !*closed, "a closed cache has nothing");
  } else {
    expect_refused(cache.error(), std::errc::invalid_argument, std::errc::bad_message);
    expect(cache.error().code != std::errc::invalid_argument || os.opened.empty(),
           "what is no handle opens nothing");
  }
  expect(os.is_at_rest(), "the file is closed and unmapped");
  if (!handle.empty()) {
    const auto again = attach(handle);
    expect(again.has_value(), "what a cache gives as its handle can be attached");
    expect((*again)->handle() == handle, "a handle stays the same");
  }
  for (const std::string& name : os.opened) {
    expect(name == parts_of(text).path, "no other file is opened");
  }
  expect(os.is_at_rest(), "the file is closed and unmapped");
}

}  // namespace lastref::fuzz
