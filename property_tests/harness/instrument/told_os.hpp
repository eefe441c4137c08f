// ToldOs: an Os that records the calls that it gets, and on which nothing exists; and a way to make
// any call of the table.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <lastref/call.hpp>
#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

#include "harness/instrument/every_call.hpp"

namespace lastref {

inline void PrintTo(Call call, std::ostream* out) {
  *out << name_of(call);
}

}  // namespace lastref

namespace lastref::pretend {

class ToldOs final : public harness::EveryCall<ToldOs> {
 public:
  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&...) noexcept {
    told.push_back(call);
    if constexpr (harness::can_fail<call>) {
      return failure(std::errc::no_such_file_or_directory, {}, call);
    } else {
      return {};
    }
  }

  os::Pid thread_id() noexcept override { return 7; }
  std::uint64_t process_token() noexcept override { return 1; }
  std::unique_ptr<os::Monitor> make_monitor() noexcept override { return nullptr; }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()>) noexcept override { return nullptr; }
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, 1); }
  void hide_from_children(std::span<const os::Fd>, const std::string&) noexcept override {}

  std::vector<Call> told;

 private:
  os::GenerationsOfObjects objects_;
};

template <typename Given>
std::remove_cvref_t<Given> something() {
  if constexpr (std::is_same_v<std::remove_cvref_t<Given>, os::PathAt>) {
    return "/nowhere";
  } else {
    return {};
  }
}

template <bool is_noexcept, typename Answer, typename... Given>
Answer make_any(os::Os& os, Answer (os::Os::*method)(Given...) noexcept(is_noexcept)) {
  return (os.*method)(something<Given>()...);
}

/// The status of the call, with default arguments.
inline Status make_call(os::Os& os, Call call) {
  const auto how = [](const auto& answer) {
    if constexpr (requires { answer.error(); }) {
      return status_of(answer);
    } else {
      return ok();
    }
  };
  switch (call) {
    case Call::none:
      break;
#define LASTREF_CALL(method, ...) \
  case Call::method:              \
    return how(make_any(os, &os::Os::method));
#include <lastref/calls.def>
#undef LASTREF_CALL
  }
  return ok();
}

}  // namespace lastref::pretend
