#include "harness/explore/progress_file.hpp"

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

constexpr std::string_view title = "lastref gate, build ";
constexpr std::string_view reached_key = "place ";
constexpr std::string_view seen_key = "probe ";
constexpr std::string_view fault_key = "fault ";
/// Put behind a line that was cut, so that it says nothing.
constexpr std::string_view cut_mark = " (cut)";

std::string line_of(std::string_view scenario, const Fault& fault) {
  return fmt::format("{} {}", scenario, to_text(fault));
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

bool ProgressFile::open(const std::string& path, std::uint64_t build, std::string& why) {
  const std::string text = read_text(path);
  const std::string first = fmt::format("{}{:016x}\n", title, build);
  if (!text.empty() && !text.starts_with(title)) {
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
    }
  }
}

bool ProgressFile::has(std::string_view scenario, const Fault& fault) const {
  return !faults_.empty() && faults_.contains(line_of(scenario, fault));
}

void ProgressFile::add(std::string_view scenario, const Fault& fault) {
  append(fault_key, line_of(scenario, fault));
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
