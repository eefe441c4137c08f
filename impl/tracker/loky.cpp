#include "impl/tracker/loky.hpp"

#include <algorithm>
#include <array>

#include <lastref/tracker.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/tracker/insist.hpp"

namespace lastref::tracker {
namespace {

template <typename What>
void report(os::Os& os, What what) noexcept {
  os::report_quietly(os, [&] { return std::string("lastref tracker: ").append(what()); });
}

}  // namespace

Result<LokyLine> parse_loky_line(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::string_view command = line.substr(0, first);
  if (command == "PROBE") {
    return LokyLine{};
  }
  const std::size_t last = line.rfind(':');
  if (first == std::string_view::npos || first == last) {
    return failure(std::errc::bad_message, "not CMD:name:rtype");
  }
  LokyLine parsed;
  if (command == "REGISTER") {
    parsed.verb = LokyVerb::register_;
  } else if (command == "UNREGISTER") {
    parsed.verb = LokyVerb::unregister;
  } else if (command == "MAYBE_UNLINK") {
    parsed.verb = LokyVerb::maybe_unlink;
  } else {
    return failure(std::errc::bad_message, "unknown command");
  }
  const auto type = type_of(line.substr(last + 1));
  if (!type) {
    return failure(std::errc::bad_message, "unknown resource type");
  }
  parsed.resource = {.type = *type, .name = std::string(line.substr(first + 1, last - first - 1))};
  if (!check_name(parsed.resource)) {
    return failure(std::errc::bad_message, "an impossible name");
  }
  return parsed;
}

Status LokyTracker::take(std::string_view line) {
  LokyLine taken;
  LASTREF_CHECK(insist(os_, [&] {
    auto parsed = parse_loky_line(line);
    if (parsed) {
      taken = *std::move(parsed);
      return ok();
    }
    const Resource as_text{.type = ResourceType::noop, .name = std::string(line.substr(0, 200))};
    report(os_, [&] {
      return "malformed line, " + parsed.error().subject + ": " + to_text(as_text).substr(5);
    });
    return ok();
  }));
  LASTREF_CHECK(insist(os_, [&] {
    take(taken);
    return ok();
  }));
  // One pipe has one order: no hold can be under way elsewhere. And loky's folders do not wait.
  // Clean-up runs immediately: the next line may register the same name again.
  return insist(os_, [&] {
    registry_.take_all_doomed([this](const Resource& doomed) { cleaner_.add(doomed); });
    if (taken.verb == LokyVerb::maybe_unlink) {
      clean(os_.now());
    }
    return ok();
  });
}

void LokyTracker::take(const LokyLine& line) {
  const Resource& resource = line.resource;
  switch (line.verb) {
    case LokyVerb::probe:
      return;
    case LokyVerb::register_:
      cleaner_.cancel(resource);
      registry_.add(no_member, resource);
      return;
    case LokyVerb::unregister:
      cleaner_.cancel(resource);
      if (!registry_.forget(resource)) {
        report(os_, [&] { return "UNREGISTER of an unknown name: " + to_text(resource); });
      }
      return;
    case LokyVerb::maybe_unlink:
      if (registry_.release(no_member, resource) == Released::unknown) {
        report(os_, [&] { return "MAYBE_UNLINK of an unknown name: " + to_text(resource); });
      }
      return;
  }
}

Status LokyTracker::take_lines() {
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = pending_.find('\n', start);
    if (end == std::string::npos) {
      break;
    }
    if (!overlong_) {
      LASTREF_CHECK(take(std::string_view(pending_).substr(start, end - start)));
    }
    overlong_ = false;
    start = end + 1;
  }
  pending_.erase(0, start);
  if (pending_.size() > loky_line_size_max) {
    if (!overlong_) {
      report(os_, [] { return "malformed line, too long: skipped"; });
    }
    overlong_ = true;
    pending_.clear();
  }
  return ok();
}

/// False at the end of the pipe.
Result<bool> LokyTracker::read_some() {
  std::array<os::PollItem, 1> items{{{.fd = pipe_, .want_read = true}}};
  std::optional<std::chrono::nanoseconds> timeout;
  if (const auto due = cleaner_.due()) {
    timeout = std::max(*due - os_.now(), os::Instant(0));
  }
  const auto ready = os::retry_interrupted([&] { return os_.poll(items, timeout); });
  if (!ready) {
    if (++poll_failures_ == os::limits_of(os_).tracker_failures) {
      return failure(ready.error());
    }
    return true;
  }
  poll_failures_ = 0;
  if (!items[0].readable && !items[0].hung_up) {
    return true;
  }
  const std::size_t before = pending_.size();
  LASTREF_CHECK(insist(os_, [&] {
    pending_.resize(before + os::limits_of(os_).loky_read_size);
    return ok();
  }));
  auto got = os::retry_interrupted(
      [&] { return os_.read(pipe_, std::as_writable_bytes(std::span(pending_).subspan(before))); });
  pending_.resize(before + got.value_or(0));
  if (!got) {
    if (got.error().code == std::errc::resource_unavailable_try_again) {
      return true;
    }
    return failure(std::move(got.error()));
  }
  LASTREF_CHECK(take_lines());
  return *got > 0;
}

void LokyTracker::clean(os::Instant now) {
  for (const Cleaned& cleaned : cleaner_.step(now)) {
    if (!cleaned.status) {
      report(os_, [&] {
        return "could not clean up " + to_text(cleaned.resource) + ": " +
               describe(cleaned.status.error());
      });
    }
  }
}

/// The last process has closed the pipe: removes everything that is still counted, folders last.
void LokyTracker::clean_all() {
  std::array<std::string, resource_types> names;
  std::array<std::size_t, resource_types> counts{};
  std::vector<Resource> left;
  for (Holding& holding : registry_.holdings()) {
    const auto type = static_cast<std::size_t>(holding.resource.type);
    names.at(type) += " " + to_text(holding.resource);
    ++counts.at(type);
    left.push_back(std::move(holding.resource));
  }
  for (std::size_t type = 0; type < resource_types; ++type) {
    if (counts.at(type) > 0) {
      report(os_, [&] {
        // The message that loky's users and its tests expect.
        return "resource_tracker: There appear to be " + std::to_string(counts.at(type)) +
               " leaked " + std::string(name_of(static_cast<ResourceType>(type))) +
               " objects to clean up at shutdown:" + names.at(type);
      });
    }
  }
  order_for_cleanup(left);
  for (const Resource& resource : left) {
    cleaner_.add(resource);
  }
}

void LokyTracker::clean_to_the_end() {
  while (const auto due = cleaner_.due()) {
    os::Instant now = os_.now();
    if (*due > now) {
      const auto waited = os_.poll({}, *due - now);
      const bool cannot_wait = !waited && waited.error().code != std::errc::interrupted;
      now = cannot_wait ? *due : os_.now();
    }
    clean(now);
  }
}

/// The writing end of a pipe, if passed by mistake, would never be readable. A read of no bytes
/// never waits, and shows whether reading is allowed at all. read(2)
Status LokyTracker::check_pipe() noexcept {
  LASTREF_TRY(status, os_.status(pipe_));
  if (status.kind != os::FileKind::other && status.kind != os::FileKind::socket) {
    return os::within_memory("a file", []() -> Status {
      return failure(std::errc::not_supported, "a file, and no pipe", Call::status);
    });
  }
  auto read = os::retry_interrupted([&] { return os_.read(pipe_, {}); });
  return read ? ok() : Status(tl::unexpected<Error>(std::move(read.error())));
}

Status LokyTracker::serve() noexcept {
  for (;;) {
    Result<bool> open = os::within_memory("the tracker", [&] { return read_some(); });
    if (!cleaner_.empty()) {
      static_cast<void>(os::had_memory([&] { clean(os_.now()); }));
    }
    if (open && *open) {
      continue;
    }
    const Status cleaned = insist(os_, [&] {
      clean_all();
      return ok();
    });
    const Status ended = insist(os_, [&] {
      clean_to_the_end();
      return ok();
    });
    if (!open) {
      return tl::unexpected<Error>(std::move(open.error()));
    }
    return cleaned ? ended : cleaned;
  }
}

}  // namespace lastref::tracker
