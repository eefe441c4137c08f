#include "harness/scenario/responses.hpp"

#include <algorithm>
#include <span>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view tracker_role = "tracker";

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

Response response_to(Call call, int error, std::string_view role) noexcept {
  if (call == Call::none) {
    return Response::none;
  }
  const std::span errors = row_of(call).errors;
  const auto found = std::ranges::find(errors, error, &ErrorRow::error);
  if (found == errors.end()) {
    return Response::none;
  }
  return base_of(role) == tracker_role ? found->in_tracker : found->elsewhere;
}

}  // namespace lastref::harness
