// HookedOs: the kernel, with functions of the test that are called before and after each call.
//
// Everything that passes is real, unlike in DirectedOs. The functions are set before the first call
// and may be called by several threads at once.
#pragma once

#include <functional>
#include <utility>

#include "harness/instrument/call_object.hpp"
#include "harness/instrument/os_around.hpp"
#include "property_tests/support/scripted_os.hpp"

namespace lastref::pretend {

class HookedOs final : public harness::OsAround<HookedOs> {
 public:
  explicit HookedOs(os::KernelOptions options = {})
      : OsAround(kernel_), kernel_(std::move(options)) {}

  /// Called before each call that can fail; it passes, fails or is shortened.
  std::function<Decision(const Crossing&)> before = [](const Crossing&) { return Decision{}; };
  std::function<void(const Crossing&)> after = [](const Crossing&) {};

  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&... given) noexcept {
    if constexpr (harness::can_fail<call>) {
      const harness::CallObject object = harness::object_of_call(given...);
      const Crossing crossing{.call = call, .subject = std::string(object.path().value_or(""))};
      const Decision decision = before(crossing);
      const bool fails = decision.fate == Fate::fail;
      // The descriptor is closed, whatever close returns.
      if (fails && call != Call::close) {
        return failure(decision.code, crossing.subject, call);
      }
      [[maybe_unused]] const auto taken = [&](std::size_t size) { return decision.passed(size); };
      auto made = harness::CallOf<call>::make(inner(), harness::part_of<call>(given, taken)...);
      if (fails) {
        return failure(decision.code, crossing.subject, call);
      }
      after(crossing);
      return made;
    } else {
      return harness::CallOf<call>::make(inner(), std::forward<Given>(given)...);
    }
  }

 private:
  os::KernelOs kernel_;
};

}  // namespace lastref::pretend
