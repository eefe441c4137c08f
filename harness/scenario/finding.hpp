// Finding: one violation that an oracle or the scenario detected.
#pragma once

#include <string>

namespace lastref::harness {

struct Finding {
  std::string
      claim;  ///< The oracle's name and the promise: "no-leak: every name created is removed"
  std::string seen;

  bool operator==(const Finding&) const = default;
};

}  // namespace lastref::harness
