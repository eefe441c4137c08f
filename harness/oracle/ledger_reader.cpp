// The reader of ledgers.
#include <array>
#include <optional>

#include "harness/oracle/file_readers.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr char alive = '+';
constexpr char forgotten = '!';
constexpr char dead = '-';
constexpr std::size_t head_size = 12;
constexpr std::size_t size_at = 2;
constexpr std::size_t check_at = 4;
constexpr std::size_t identity_size = 24;
constexpr unsigned is_identified = 128;
constexpr std::array<std::string_view, 5> types = {"file", "folder", "semlock", "shm", "noop"};

/// FNV-1a over the offset, the type, and the bytes after the head.
std::uint64_t check_of(std::uint64_t offset, char type, std::string_view body) {
  std::string all;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    all.push_back(static_cast<char>(offset >> shift & 0xffU));
  }
  return hash_of(all.append(1, type).append(body));
}

/// The resource in the format of the journal; empty if the type does not exist.
std::optional<std::string> text_of(unsigned type, std::string_view name) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (type >= types.size()) {
    return std::nullopt;
  }
  std::string text(types[type]);
  text += ':';
  for (const char sign : name) {
    if (sign >= ' ' && sign <= '~' && sign != '\\') {
      text += sign;
    } else {
      const auto byte = static_cast<unsigned char>(sign);
      text.append("\\x").append(1, digits[byte / 16U]).append(1, digits[byte % 16U]);
    }
  }
  return text;
}

}  // namespace

ReadFile<LedgerContent> read_ledger(std::string_view bytes) {
  LedgerContent content;
  std::size_t at = 0;
  while (bytes.size() - at >= head_size) {
    const char state = bytes[at];
    if (state == '\0') {
      return content;
    }
    const auto type = static_cast<unsigned char>(bytes[at + 1]);
    const std::uint64_t size = number_in(bytes, at + size_at, 2);
    if (state != alive && state != forgotten && state != dead) {
      return not_whole("a record at " + std::to_string(at) + " is neither alive nor dead");
    }
    if (size > bytes.size() - at - head_size) {
      content.is_cut_short = true;
      return content;
    }
    std::string_view body = bytes.substr(at + head_size, size);
    if (state != dead) {
      if (number_in(bytes, at + check_at, 8) != check_of(at, bytes[at + 1], body)) {
        content.is_cut_short = true;
        return content;
      }
      body.remove_prefix((type & is_identified) != 0 ? std::min(identity_size, body.size()) : 0);
      const auto name = text_of(type & ~is_identified, body);
      if (!name || body.empty()) {
        return not_whole("a record at " + std::to_string(at) + " names nothing");
      }
      if (state == alive) {
        content.names.push_back(*name);
      }
    }
    at += head_size + size;
  }
  return content;
}

}  // namespace lastref::harness::oracle
