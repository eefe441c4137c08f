// Responses: what the program may do about an errno of a call. The table itself is responses.def.
//
// Every oracle that accepts a run in which a call failed consults this table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <lastref/call.hpp>

namespace lastref::harness {

/// See responses.def.
enum class Response : std::uint8_t { none, ignore, retry, answer, fall_back, fail };

/// For reports: "fall back".
std::string_view name_of(Response response) noexcept;

struct ResponseRow {
  Call call;
  int error;
  Response in_tracker;
  Response elsewhere;
};

/// Whether a single such errno must have no visible effect.
bool is_unnoticed(Response response) noexcept;

/// All rows, in the order of the table.
std::span<const ResponseRow> response_rows() noexcept;

/// What a process of that role may do about that error; `none` if no row exists.
Response response_to(Call call, int error, std::string_view role) noexcept;

/// Whether names may remain until the next start when that call of a tracker fails from now on. If
/// any other call fails, or this one fails once, nothing remains if all processes that can clean up
/// are alive.
bool is_needed_to_clean_up(Call call) noexcept;

}  // namespace lastref::harness
