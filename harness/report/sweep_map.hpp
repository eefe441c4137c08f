// SweepMap: the outcome of each fault of a swept program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lastref::harness {

/// One fault at one point.
struct SweepCell {
  enum class Outcome : std::uint8_t { not_tried, not_injected, clean, finding };

  std::string role = {};
  std::string call = {};
  std::string object = {};
  std::uint64_t k = 1;     ///< The number of the call
  std::string fault = {};  ///< "fail_once ENOSPC"
  Outcome outcome = Outcome::not_tried;
  std::vector<std::string> fingerprints = {};  ///< of its findings
};

struct SweepMap {
  std::string program;
  std::vector<SweepCell> cells = {};  ///< In the order of the plan
};

}  // namespace lastref::harness
