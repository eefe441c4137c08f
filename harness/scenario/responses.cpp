#include "harness/scenario/responses.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view tracker_role = "tracker";

constexpr std::array rows = {
#define LASTREF_RESPONSE(call, error, in_tracker, elsewhere) \
  ResponseRow{Call::call, error, Response::in_tracker, Response::elsewhere},
#define LASTREF_NEEDED(call)
#include "harness/scenario/responses.def"
#undef LASTREF_RESPONSE
#undef LASTREF_NEEDED
};

constexpr std::array needed = {
#define LASTREF_RESPONSE(call, error, in_tracker, elsewhere)
#define LASTREF_NEEDED(call) Call::call,
#include "harness/scenario/responses.def"
#undef LASTREF_RESPONSE
#undef LASTREF_NEEDED
};

}  // namespace

std::string_view name_of(Response response) noexcept {
  switch (response) {
    case Response::none:
      return "none";
    case Response::ignore:
      return "ignore";
    case Response::retry:
      return "retry";
    case Response::answer:
      return "answer";
    case Response::fall_back:
      return "fall back";
    case Response::fail:
      return "fail";
  }
  LASTREF_ASSERT(false);
}

bool is_unnoticed(Response response) noexcept {
  return response == Response::ignore || response == Response::retry;
}

std::span<const ResponseRow> response_rows() noexcept {
  return rows;
}

Response response_to(Call call, int error, std::string_view role) noexcept {
  const auto found = std::ranges::find_if(
      rows, [&](const ResponseRow& row) { return row.call == call && row.error == error; });
  if (found == rows.end()) {
    return Response::none;
  }
  return base_of(role) == tracker_role ? found->in_tracker : found->elsewhere;
}

bool is_needed_to_clean_up(Call call) noexcept {
  return std::ranges::find(needed, call) != needed.end();
}

}  // namespace lastref::harness
