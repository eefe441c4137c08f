// Responses: what the program may do about an errno of a call. The table itself is responses.def.
//
// Every oracle that lets a run pass although a call has failed in it asks here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <lastref/call.hpp>

namespace lastref::harness {

/// See responses.def.
enum class Response : std::uint8_t { none, ignore, retry, answer, fall_back, fail };

/// For people: "fall back".
std::string_view name_of(Response response) noexcept;

struct ResponseRow {
  Call call;
  int error;
  Response in_tracker;
  Response elsewhere;
};

/// Whether nobody may notice that it came once.
bool is_unnoticed(Response response) noexcept;

/// All rows, in the order of the table.
std::span<const ResponseRow> response_rows() noexcept;

/// What a process of that role may do about that error; `none` if no row says so.
Response response_to(Call call, int error, std::string_view role) noexcept;

/// Whether names may stay to the next start when that call of a tracker fails from now on. Nothing
/// stays, with everybody alive who could clean up, because any other call has failed, or has failed
/// once.
bool is_needed_to_clean_up(Call call) noexcept;

}  // namespace lastref::harness
