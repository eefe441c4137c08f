#include "harness/mutant/draw.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

struct RoomLetter {
  std::string_view room;
  char letter;
};

/// The letter of the specification that covers most of it.
constexpr std::array<RoomLetter, 7> rooms = {{{"array", 'R'},
                                              {"backends", 'B'},
                                              {"cache", 'C'},
                                              {"os", 'E'},
                                              {"reducers", 'R'},
                                              {"resources", 'M'},
                                              {"tracker", 'T'}}};
constexpr std::string_view product = "impl/";
constexpr std::size_t shown_most = 60;  // bytes of the original text

char letter_of(std::string_view room) {
  const auto* const found = std::ranges::find(rooms, room, &RoomLetter::room);
  return found == rooms.end() ? 'E' : found->letter;
}

/// A name consists only of these characters.
std::string plain(std::string_view text) {
  std::string name(text);
  for (char& byte : name) {
    const bool good = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
    byte = good ? byte : '_';
  }
  return name;
}

/// The whole lines that it changes.
std::string_view lines_around(std::string_view text, const Edit& edit) {
  const std::size_t before = edit.begin == 0 ? text.npos : text.rfind('\n', edit.begin - 1);
  const std::size_t begin = before == text.npos ? 0 : before + 1;
  const std::size_t last = edit.end > edit.begin ? edit.end - 1 : edit.end;
  return text.substr(begin, std::min(text.find('\n', last), text.size()) - begin);
}

/// The text on one line.
std::string shown(std::string_view text) {
  std::string line;
  for (const char byte : text) {
    const bool is_space = byte == ' ' || byte == '\n';
    if (!is_space || (!line.empty() && line.back() != ' ')) {
      line += is_space ? ' ' : byte;
    }
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line.size() > shown_most ? line.substr(0, shown_most) + "..." : line;
}

std::size_t line_of(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1;
}

/// From 1.
std::size_t column_of(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? at + 1 : at - before;
}

std::string name_of_place(const Source& source, const Edit& edit) {
  const fs::path path(source.path);
  return fmt::format("{}_{}_{}_{}_{}",
                     name_of(edit.by),
                     room_of_source(source.path),
                     plain(path.stem().string() + (path.extension() == ".hpp" ? "_hpp" : "")),
                     line_of(source.text, edit.begin),
                     column_of(source.text, edit.begin));
}

}  // namespace

Result<std::vector<Source>> read_sources(const std::string& checkout) {
  std::vector<Source> sources;
  std::error_code error;
  for (const RoomLetter& each : rooms) {
    const fs::path folder = fs::path(checkout) / product / each.room;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") {
        continue;
      }
      sources.push_back({entry.path().lexically_relative(checkout), read_file(entry.path())});
    }
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources.empty() ? failure(std::errc::io_error, checkout + ": no sources")
                         : Result<std::vector<Source>>(std::move(sources));
}

std::string_view room_of_source(std::string_view path) noexcept {
  for (const RoomLetter& each : rooms) {
    if (path.starts_with(product) && path.substr(product.size()).starts_with(each.room) &&
        path.substr(product.size() + each.room.size()).starts_with('/')) {
      return each.room;
    }
  }
  return {};
}

Draw::Draw(std::vector<Source> sources, std::uint64_t seed)
    : seed_(seed), sources_(std::move(sources)), choices_({}, seed) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    for (Edit& edit : edits_of(sources_[i].text)) {
      const Operator by = edit.by;
      rooms_[room_of_source(sources_[i].path)][by].push_back({i, std::move(edit)});
    }
  }
}

template <typename Key>
Key Draw::one_of(const std::vector<Key>& keys) {
  return keys[choices_.pick(static_cast<std::uint32_t>(keys.size()))];
}

std::optional<std::string_view> Draw::room_with_fewest() {
  std::vector<std::string_view> fewest;
  for (const auto& [room, operators] : rooms_) {
    if (operators.empty()) {
      continue;
    }
    if (!fewest.empty() && taken_of_room_[room] < taken_of_room_[fewest.front()]) {
      fewest.clear();
    }
    if (fewest.empty() || taken_of_room_[room] == taken_of_room_[fewest.front()]) {
      fewest.push_back(room);
    }
  }
  return fewest.empty() ? std::nullopt : std::optional(one_of(fewest));
}

Operator Draw::operator_with_fewest(const Operators& operators) {
  std::vector<Operator> fewest;
  for (const auto& [by, places] : operators) {
    if (!fewest.empty() && taken_by_operator_[by] < taken_by_operator_[fewest.front()]) {
      fewest.clear();
    }
    if (fewest.empty() || taken_by_operator_[by] == taken_by_operator_[fewest.front()]) {
      fewest.push_back(by);
    }
  }
  return one_of(fewest);
}

std::optional<Drawn> Draw::next() {
  const std::optional<std::string_view> room = room_with_fewest();
  if (!room) {
    return std::nullopt;
  }
  Operators& operators = rooms_[*room];
  const Operator by = operator_with_fewest(operators);
  std::vector<Place>& places = operators[by];
  const std::size_t chosen = choices_.pick(static_cast<std::uint32_t>(places.size()));
  std::swap(places[chosen], places.back());
  const Place place = std::move(places.back());
  places.pop_back();
  if (places.empty()) {
    operators.erase(by);
  }
  ++taken_of_room_[*room];
  ++taken_by_operator_[by];
  const Source& source = sources_[place.source];
  return Drawn{.name = name_of_place(source, place.edit), .source = &source, .edit = place.edit};
}

/// The operator has had its turn, so that one which never compiles is not tried again and again.
void Draw::refuse(const Drawn& drawn) {
  --taken_of_room_[room_of_source(drawn.source->path)];
}

std::string patch_of(const Drawn& drawn, std::uint64_t seed) {
  const Source& source = *drawn.source;
  const Edit& edit = drawn.edit;
  const std::string claim = fmt::format("{} at {}:{}: {}",
                                        name_of(edit.by),
                                        source.path,
                                        line_of(source.text, edit.begin),
                                        shown(lines_around(source.text, edit)));
  return fmt::format("Row: {}0\nOrigin: drawn with seed {}\nClaim: {}\n\n{}",
                     letter_of(room_of_source(source.path)),
                     seed,
                     claim,
                     unified_diff(source.path, source.text, changed_by(edit, source.text)));
}

}  // namespace lastref::harness
