// loky_stream: all bytes from loky's pipe, in pieces of any size, compared with a plain count.
//
// The first byte gives the number of pieces, 1 to 16; the rest is the stream.
#include <algorithm>
#include <map>
#include <vector>

#include "impl/tracker/loky.hpp"
#include "property_tests/fuzz/absent_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

/// How often each name was cleaned up. Files are removed, and folders are already missing.
using Cleanings = std::map<Resource, std::size_t>;

class PipeOs final : public AbsentOs {
 public:
  PipeOs(os::Bytes left, std::size_t at_once) noexcept : left_(left), at_once_(at_once) {}

  Cleanings cleaned;
  std::string said;

  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    if (items.empty()) {
      clock_ += timeout.value_or(std::chrono::nanoseconds(0));
      return 0U;
    }
    items.front().writable = items.front().fd == os::Fd::standard_error;
    items.front().readable = !left_.empty();
    items.front().hung_up = left_.empty();
    return 1U;
  }
  Result<std::size_t> read(os::Fd, os::Buffer into) noexcept override {
    const std::size_t count = std::min({left_.size(), at_once_, into.size()});
    std::copy_n(left_.begin(), count, into.begin());
    left_ = left_.subspan(count);
    return count;
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    expect(fd == os::Fd::standard_error, "a tracker writes nowhere but to standard error");
    said += text_of(bytes);
    return bytes.size();
  }
  Result<os::Fd> open(const os::PathAt& where, const os::OpenOptions& options) noexcept override {
    expect(options.folder, "clean-up opens folders alone");
    ++cleaned[{.type = ResourceType::folder, .name = where.path}];
    return failure(std::errc::no_such_file_or_directory, where.path);
  }
  Status unlink(const os::PathAt& where) noexcept override {
    ++cleaned[{.type = ResourceType::file, .name = where.path}];
    return ok();
  }
  Status unlink_shm(const std::string& name) noexcept override {
    ++cleaned[{.type = ResourceType::shm, .name = name}];
    return ok();
  }
  Status unlink_semaphore(const std::string& name) noexcept override {
    ++cleaned[{.type = ResourceType::semlock, .name = name}];
    return ok();
  }
  os::Instant now() noexcept override { return clock_; }

 private:
  os::Bytes left_;
  std::size_t at_once_;
  os::Instant clock_{0};
};

/// The name by which the folder is opened: without slashes at its end, unless it is the root.
Resource as_cleaned(Resource resource) {
  if (resource.type == ResourceType::folder) {
    const std::size_t last = resource.name.find_last_not_of('/');
    resource.name.resize(last == std::string::npos ? resource.name.size() : last + 1);
  }
  return resource;
}

/// The names that loky's tracker would clean up, and how often.
Cleanings counted(std::string_view text) {
  std::map<Resource, std::size_t> counts;
  Cleanings cleaned;
  const auto clean = [&](const Resource& resource) {
    if (resource.type != ResourceType::noop) {
      ++cleaned[as_cleaned(resource)];
    }
  };
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const auto line = tracker::parse_loky_line(text.substr(0, end));
    text.remove_prefix(end + 1);
    const auto found = line ? counts.find(line->resource) : counts.end();
    if (line && line->verb == tracker::LokyVerb::register_) {
      ++counts[line->resource];
    } else if (found == counts.end()) {
      continue;
    } else if (line->verb == tracker::LokyVerb::unregister) {
      counts.erase(found);
    } else if (line->verb == tracker::LokyVerb::maybe_unlink && --found->second == 0) {
      clean(found->first);
      counts.erase(found);
    }
  }
  for (const auto& [resource, count] : counts) {
    clean(resource);
  }
  return cleaned;
}

bool is_for_people(char letter) {
  return letter == '\n' || (letter >= ' ' && letter <= '~');
}

}  // namespace

void check(os::Bytes input) {
  if (input.empty()) {
    return;
  }
  const auto pieces = std::to_integer<std::size_t>(input.front()) % 16 + 1;
  const os::Bytes stream = input.subspan(1);
  PipeOs os(stream, stream.size() / pieces + 1);
  tracker::LokyTracker tracker(os, os::Fd(3));
  expect(tracker.serve().has_value(), "a pipe is served to its end");
  expect(std::ranges::all_of(os.said, is_for_people), "no report can move a terminal");
  expect(os.cleaned == counted(text_of(stream)), "each name is cleaned up when its count says so");
}

}  // namespace lastref::fuzz
