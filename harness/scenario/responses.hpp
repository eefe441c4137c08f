// responses: what the program may do about an error of a call, by the table of calls.
//
// Every oracle that accepts a run in which a call failed consults it.
#pragma once

#include <string_view>

#include <lastref/call.hpp>

namespace lastref::harness {

/// For reports: "fall back".
std::string_view name_of(Response response) noexcept;

/// Whether a single such errno must have no visible effect.
bool is_unnoticed(Response response) noexcept;

/// What a process of that role may do about that error; `none` if no row exists.
Response response_to(Call call, int error, std::string_view role) noexcept;

}  // namespace lastref::harness
