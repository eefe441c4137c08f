// wire: plans and outcomes as bytes, between a program and its fork server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/kernel/kernel_world.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// A request to the server.
struct RunRequest {
  std::string scenario;
  Plan plan;
  std::optional<RandomEvents> ungated;  ///< Present: the run has no gates.
};

std::string encode_request(const RunRequest& request);
std::string encode_outcome(const Outcome& outcome);
std::string encode_ungated(const UngatedOutcome& outcome);
RunRequest decode_request(const std::string& bytes);
Outcome decode_outcome(const std::string& bytes);
UngatedOutcome decode_ungated(const std::string& bytes);

}  // namespace lastref::harness
