#include "harness/platform/proc.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

std::string read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 8192> piece;
  for (ssize_t size = 1; file && size > 0;) {
    size = ::read(file.get(), piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  return text;
}

std::string first_line_of(const std::string& path) {
  std::string text = read_file(path);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::optional<std::string> link_at(const std::string& path) {
  // Links of /proc do not report their lengths, which are a page at most, so std::filesystem reads
  // them twice. Initializing this array would cost more than everything else here.
  std::array<char, 4096> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size < 0 ? std::nullopt
                  : std::optional(std::string(target.data(), static_cast<std::size_t>(size)));
}

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (const auto number = number_in<int>(name)) {
      all.push_back(*number);
    }
  }
  return all;
}

std::string_view field_in(std::string_view text, std::string_view name) noexcept {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
      line.remove_prefix(name.size() + 1);
      return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    }
  }
  return {};
}

std::string_view stat_field_in(std::string_view text, int number) noexcept {
  // The name of a program, field 2, may contain any characters.
  text.remove_prefix(std::min(text.rfind(')'), text.size()));
  for (int field = 2; field < number; ++field) {
    const std::size_t end = text.find(' ');
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return text.substr(0, text.find_first_of(" \n"));
}

int number_of_status(int process, std::string_view field) {
  const std::string status = read_file(fmt::format("/proc/{}/status", process));
  return number_in<int>(field_in(status, field)).value_or(-1);
}

std::optional<std::uint64_t> bits_of_status(int process, std::string_view field) {
  const std::string status = read_file(fmt::format("/proc/{}/status", process));
  return number_in<std::uint64_t>(field_in(status, field), 16);
}

char state_of(int process, int thread) {
  const std::string stat = read_file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  const std::string_view state = stat_field_in(stat, 3);
  return state.empty() ? 'X' : state.front();
}

std::string birth_of(int process) {
  return std::string(stat_field_in(read_file(fmt::format("/proc/{}/stat", process)), 22));
}

std::vector<Mapping> mappings_in(std::string_view text) {
  std::vector<Mapping> all;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto next_word = [&line](char after) {
      const std::string_view word = line.substr(0, line.find(after));
      line.remove_prefix(std::min(word.size() + 1, line.size()));
      return word;
    };
    Mapping each;
    each.begin = number_in<std::uint64_t>(next_word('-'), 16).value_or(0);
    each.end = number_in<std::uint64_t>(next_word(' '), 16).value_or(0);
    each.rights = next_word(' ');
    each.offset = number_in<std::uint64_t>(next_word(' '), 16).value_or(0);
    next_word(' ');  // The device
    each.inode = number_in<std::uint64_t>(next_word(' ')).value_or(0);
    each.path = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    all.push_back(each);
  }
  return all;
}

std::vector<int> threads_of(int process) {
  return numbers_in(fmt::format("/proc/{}/task", process));
}

std::vector<int> children_of(int process) {
  std::vector<int> children;
  for (const int thread : threads_of(process)) {
    const std::string text = read_file(fmt::format("/proc/{}/task/{}/children", process, thread));
    for (std::string_view rest = text; const auto child = number_in<int>(rest);) {
      children.push_back(*child);
      rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
    }
  }
  return children;
}

std::string descriptor_at(int thread, int descriptor) {
  return link_at(fmt::format("/proc/{}/fd/{}", thread, descriptor))
      .value_or(fmt::format("fd {}", descriptor));
}

std::map<int, std::string> descriptors_of(int process) {
  std::map<int, std::string> all;
  for (const int descriptor : numbers_in(fmt::format("/proc/{}/fd", process))) {
    all[descriptor] = descriptor_at(process, descriptor);
  }
  return all;
}

bool stays_at_exec(int process, int descriptor) {
  const std::string text = read_file(fmt::format("/proc/{}/fdinfo/{}", process, descriptor));
  return (number_in<int>(field_in(text, "flags"), 8).value_or(O_CLOEXEC) & O_CLOEXEC) == 0;
}

std::string title_of(int process) {
  return first_line_of(fmt::format("/proc/{}/comm", process));
}

std::string executable_of(int process) {
  return link_at(fmt::format("/proc/{}/exe", process)).value_or("");
}

std::string words_of(int process) {
  constexpr std::size_t size_max = 4096;
  std::string words = read_file(fmt::format("/proc/{}/cmdline", process));
  while (words.ends_with('\0')) {
    words.pop_back();
  }
  std::ranges::replace_if(
      words,
      [](char byte) { return static_cast<unsigned char>(byte) <= ' ' || byte == 0x7f; },
      ' ');
  if (words.size() > size_max) {
    words.resize(size_max);
    words.append("...");
  }
  return words;
}

}  // namespace lastref::harness
