#include "harness/explore/progress_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view gate_title = "lastref gate, build ";
constexpr std::string_view reached_key = "place ";
constexpr std::string_view seen_key = "probe ";
constexpr std::string_view fault_key = "fault ";
constexpr std::string_view aftermath_key = "after ";
/// Separates the fields of an aftermath. A name that contains it makes the line invalid.
constexpr char separator = '\t';
/// Appended to a line that was cut, to make it invalid.
constexpr std::string_view cut_mark = " (cut)";

std::string line_of(std::string_view scenario, std::span<const Fault> faults) {
  std::string line(scenario);
  for (const Fault& fault : faults) {
    line += (&fault == &faults.front() ? " " : ", then ") + to_text(fault);
  }
  return line;
}

/// Removes and returns the first field.
std::string_view next_field(std::string_view& line, char end) {
  const std::size_t at = std::min(line.find(end), line.size());
  const std::string_view field = line.substr(0, at);
  line.remove_prefix(std::min(at + 1, line.size()));
  return field;
}

}  // namespace

std::string to_text(const Aftermath& aftermath) {
  const Crossing& crossing = aftermath.crossing;
  return fmt::format("{}{}{}{}{}{}{:x}{}{}{}{}",
                     aftermath.scenario,
                     separator,
                     to_text(aftermath.first),
                     separator,
                     to_text(crossing.site),
                     separator,
                     crossing.callers,
                     crossing.error == -1 ? "" : " came",
                     crossing.waited ? " waited" : "",
                     crossing.has_limit ? " limit" : "",
                     crossing.may_be_cut ? " cut" : "");
}

std::optional<Aftermath> parse_aftermath(std::string_view line) {
  const std::string_view scenario = next_field(line, separator);
  const Result<Fault> first = parse_fault(next_field(line, separator));
  const Result<Site> site = parse_site(next_field(line, separator));
  const std::string_view callers = next_field(line, ' ');
  if (!first || !site) {
    return std::nullopt;
  }
  Aftermath read{
      .scenario = std::string(scenario), .first = *first, .crossing = {.site = *site, .error = -1}};
  const auto [end, wrong] =
      std::from_chars(callers.data(), callers.data() + callers.size(), read.crossing.callers, 16);
  if (wrong != std::errc{} || end != callers.data() + callers.size()) {
    return std::nullopt;
  }
  while (!line.empty()) {
    const std::string_view word = next_field(line, ' ');
    read.crossing.error = word == "came" ? 0 : read.crossing.error;
    read.crossing.waited |= word == "waited";
    read.crossing.has_limit |= word == "limit";
    read.crossing.may_be_cut |= word == "cut";
  }
  return read;
}

bool ProgressFile::open(const std::string& path, std::uint64_t build, std::string& why) {
  const std::string text = read_file(path);
  const std::string first = fmt::format("{}{:016x}\n", gate_title, build);
  if (!text.empty() && !text.starts_with(gate_title)) {
    why = path + " is not a file of `lastref gate --resume`";
    return false;
  }
  const bool goes_on = text.starts_with(first);
  outdated_ = !text.empty() && !goes_on;
  out_.open(path, goes_on ? std::ios::app | std::ios::binary : std::ios::trunc | std::ios::binary);
  if (goes_on) {
    read(std::string_view(text).substr(first.size()));
    if (!text.ends_with('\n')) {
      out_ << cut_mark << '\n';
    }
  } else {
    out_ << first;
  }
  out_ << std::exchange(kept_, {});
  out_.flush();
  if (!out_) {
    why = fmt::format("cannot write {}: {}", path, std::generic_category().message(errno));
    return false;
  }
  return true;
}

void ProgressFile::read(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.ends_with(cut_mark)) {
      continue;
    }
    if (line.starts_with(fault_key)) {
      faults_.emplace(line.substr(fault_key.size()));
    } else if (line.starts_with(reached_key)) {
      reached_.emplace(line.substr(reached_key.size()));
    } else if (line.starts_with(seen_key)) {
      seen_.emplace(line.substr(seen_key.size()));
    } else if (line.starts_with(aftermath_key)) {
      if (auto aftermath = parse_aftermath(line.substr(aftermath_key.size()))) {
        aftermaths_.push_back(*std::move(aftermath));
      }
    }
  }
}

bool ProgressFile::has(std::string_view scenario, std::span<const Fault> faults) const {
  return !faults_.empty() && faults_.contains(line_of(scenario, faults));
}

void ProgressFile::add(std::string_view scenario, std::span<const Fault> faults) {
  append(fault_key, line_of(scenario, faults));
}

void ProgressFile::add_aftermath(const Aftermath& aftermath) {
  append(aftermath_key, to_text(aftermath));
}

void ProgressFile::add_reached(std::string_view name) {
  if (reached_.emplace(name).second) {
    append(reached_key, name);
  }
}

void ProgressFile::add_seen(std::string_view name) {
  if (seen_.emplace(name).second) {
    append(seen_key, name);
  }
}

void ProgressFile::append(std::string_view key, std::string_view rest) {
  if (out_.is_open()) {
    out_ << key << rest << '\n';
  } else {
    kept_.append(key).append(rest).append("\n");
  }
}

}  // namespace lastref::harness
