// moments: actions of others at a chosen call or step.
#pragma once

#include <cstddef>
#include <functional>

#include "property_tests/support/directed_os.hpp"

namespace lastref::pretend {

/// Runs `act`, with `between` before its n-th call or step, from 0; returns whether there was one.
inline bool at_moment(DirectedOs& os,
                      std::size_t n,
                      const std::function<void()>& act,
                      const std::function<void()>& between) {
  std::size_t moment = 0;
  bool came = false;
  const auto count = [&] {
    if (moment++ == n) {
      came = true;
      between();
    }
  };
  os.director = [&](const Crossing&) -> std::optional<std::errc> {
    count();
    return std::nullopt;
  };
  os.at_step = [&](Step) { count(); };
  act();
  os.director = nullptr;
  os.at_step = nullptr;
  return came;
}

}  // namespace lastref::pretend
