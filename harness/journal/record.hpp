// Record: one line of a run's journal.
//
// Plain bytes of one size, so that it can be in memory shared by many processes and be read after
// they were killed. Every world writes the same records, and the oracles read nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <lastref/call.hpp>

#include "harness/platform/hash.hpp"
#include "harness/platform/named_enum.hpp"

namespace lastref::harness {

/// Up to `capacity` - 1 bytes of text, in place. Longer text is cut, and ends in '~' and eight hex
/// digits of a hash of the whole: so different texts remain different, and equal ones equal.
template <std::size_t capacity>
class Text {
 public:
  static_assert(capacity > 16 && capacity <= 256);

  Text() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a text is a text.
  Text(std::string_view text) noexcept { assign(text); }

  void assign(std::string_view text) noexcept {
    constexpr std::size_t size_max = capacity - 1;
    size_ = static_cast<std::uint8_t>(std::min(text.size(), size_max));
    std::copy_n(text.data(), size_, bytes_.data());
    if (text.size() > size_max) {
      mark_cut(hash_of(text));
    }
  }

  std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  bool empty() const noexcept { return size_ == 0; }
  bool operator==(std::string_view other) const noexcept { return view() == other; }

 private:
  void mark_cut(std::uint64_t hash) noexcept {
    std::size_t at = capacity - 1;
    for (int digit = 0; digit < 8; ++digit, hash >>= 4U) {
      bytes_[--at] = "0123456789abcdef"[hash & 0xfU];
    }
    bytes_[--at] = '~';
  }

  std::uint8_t size_ = 0;
  std::array<char, capacity - 1> bytes_{};
};

LASTREF_NAMED_ENUM(RecordKind,
                   // A crossing begins: the call is about to be made.
                   (begin, "begin"),
                   // It returned. No other thread ran since `begin`, unless it waited.
                   (end, "end"),
                   // An operation of the Product begins ("register"),
                   (operation_begin, "operation_begin"),
                   // and returned.
                   (operation_end, "operation_end"),
                   // The world observed something, named by `name`: see namespace fact.
                   (fact, "fact"));

/// The facts that a world may record, in `name`.
namespace fact {
/// value: pid; text: the role that started it
inline constexpr std::string_view born = "born";
/// text: one of the ends below; value: exit code
inline constexpr std::string_view died = "died";
/// A planned fault. value: its index in the plan
inline constexpr std::string_view fired = "fired";
/// The time limit of a wait ended early although this was not planned.
inline constexpr std::string_view early = "early";
/// text: what each thread waits in, or what did not stop
inline constexpr std::string_view hang = "hang";
/// Other users can write to a name. text: which, and the call that made it
inline constexpr std::string_view exposed = "exposed";
/// A process outlived the run. text: which
inline constexpr std::string_view stray = "stray";
/// object: a descriptor that was open at the end
inline constexpr std::string_view fd_left = "fd_left";
/// text: a claim of the scenario's own. The next record of the process is `seen`:
inline constexpr std::string_view refuted = "refuted";
/// text: what was seen instead
inline constexpr std::string_view seen = "seen";
/// No thread could continue, so an `await` of one failed: its signal cannot come.
inline constexpr std::string_view let_down = "let_down";
/// The body of a role returned an error. text: which
inline constexpr std::string_view failed = "failed";
/// An outside party writes a file. text: its path
inline constexpr std::string_view outside = "outside";
/// The tracker was asked at a quiet moment. One `count` for each entry (text: resource, value:
/// count, k: the holder's pid), then `counted` (value: how many entries).
inline constexpr std::string_view count = "count";
inline constexpr std::string_view counted = "counted";
/// The same at a moment when messages may be in transit: for example directly after a kill.
inline constexpr std::string_view counted_at_once = "counted_at_once";

// How a process may end, in the text of `died`.
inline constexpr std::string_view ended = "ended";  ///< Its body returned.
inline constexpr std::string_view killed =
    "killed";  ///< By the plan, the scenario, or a process of the run.
inline constexpr std::string_view swept = "swept";      ///< By the world, after a hang.
inline constexpr std::string_view crashed = "crashed";  ///< By itself; value: a signal's number.
}  // namespace fact

/// The path of an array, with its type as prefix, is not cut.
inline constexpr std::size_t record_text_space = 256;
using RoleText = Text<24>;
using NameText = Text<24>;
using ObjectText = Text<44>;
using RecordText = Text<record_text_space>;

/// A text as a record's `text` has it: to compare a long text with one from the journal.
inline std::string journal_text(std::string_view text) {
  return std::string(RecordText(text).view());
}

struct Record {
  std::uint32_t seq = 0;  ///< Order in the run.
  std::uint32_t k = 0;
  /// Of a creation: the requested mode; of a transfer: the number of bytes; of a wait: its limit in
  /// nanoseconds, or -1; otherwise see the fact.
  std::int64_t value = 0;
  std::int32_t error = 0;     ///< errno that it returned
  std::uint32_t callers = 0;  ///< Of a crossing that begins, where they are recorded.
  std::uint16_t process = 0;  ///< Index in the run, from 0, the root; the same in every run.
  std::uint16_t actor = 0;    ///< A thread's index in the run.
  RecordKind kind = RecordKind::fact;
  Call call = Call::none;
  bool injected = false;
  bool waited = false;         ///< It had to wait for another process at least once.
  bool observed = false;       ///< Only because the world asked the tracker: not a point of the
                               ///< run.
  std::uint8_t published = 0;  ///< Used by the journal: 1 when the rest is complete.
  RoleText role;               ///< "tracker#2"
  NameText name;               ///< "unlink", "tracker_doomed", "register_name", "born"
  ObjectText object;
  RecordText text;  ///< A full path, a resource, or the text of a fact.
};

inline bool is_fact(const Record& record, std::string_view name) noexcept {
  return record.kind == RecordKind::fact && record.name == name;
}

/// Whether the record is from or about a tracker, whatever its number.
inline bool is_tracker(const Record& record) noexcept {
  return record.role.view().starts_with("tracker");
}

/// Whether a call removes a name.
constexpr bool is_removal(Call call) noexcept {
  return call == Call::unlink || call == Call::remove_folder || call == Call::unlink_shm ||
         call == Call::unlink_semaphore;
}

/// "tracker unlink(a.bin)#1 = ENOENT (injected)", for reports.
std::string to_text(const Record& record);

}  // namespace lastref::harness
