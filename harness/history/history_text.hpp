// History as text, one operation per line, for people and for files.
//
//   # The second get came too late to see nothing.
//   refusals when_frozen
//   [1..4] worker_1 put 3 0xaa = true
//   [5..6] worker_2 get 3 = nothing
//   [7..8] worker_2 get 3 = 0xaa
//   [9..] worker_1 put 4 0xbb
//   [10..12] worker_3 put 4 0xcc = error
//   [13..14] root freeze = true
//
// Without " = " an operation never returned. Empty lines and lines that start with '#' are ignored;
// `refusals` may occur once, before all operations, and defaults to when_frozen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "harness/history/history.hpp"
#include "harness/platform/named_enum.hpp"

namespace lastref::harness::oracle {

/// The mistake in a line.
LASTREF_NAMED_ENUM(Mistake,
                   // It does not start with "[1..2]" or "[1..]".
                   (no_moments, "starts with neither [1..2] nor [1..]"),
                   // It returns before it is invoked.
                   (moments_reversed, "returns before it is invoked"),
                   (no_actor, "names no actor"),
                   // get, put or freeze
                   (no_kind, "is neither get nor put nor freeze"),
                   // a decimal number
                   (no_slot, "names no slot"),
                   // 0x and lower-case hex digits
                   (no_value, "puts no value"),
                   // It returned, but with an ending that its kind does not have; or it never
                   // returned, but has an ending.
                   (no_ending, "does not end as its kind can"),
                   (text_left_over, "goes on after its end"),
                   // `refusals` without one of its three tokens
                   (no_refusals, "does not say when puts may be refused"),
                   // `refusals` twice, or after an operation
                   (late_refusals, "says too late when puts may be refused"));

struct HistoryTextError {
  std::size_t line = 0;  ///< From 1.
  Mistake mistake{};

  bool operator==(const HistoryTextError&) const = default;
};

/// "line 3 names no slot"
std::string describe(const HistoryTextError& misreading);

/// Whether a name can occur in a text: it is not empty, and has neither blanks nor control
/// characters.
bool is_name_of_actor(std::string_view name) noexcept;

/// REQUIRES operations that are sound, of actors with names that can occur in a text.
std::string to_text(const History& history);

/// Actors are numbered in the order in which they first appear.
tl::expected<History, HistoryTextError> parse_history(std::string_view text);

}  // namespace lastref::harness::oracle
