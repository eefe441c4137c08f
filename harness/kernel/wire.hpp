// wire: plans and outcomes as bytes, between a program and its fork server.
#pragma once

#include <cstdint>
#include <string>

#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// A request to the server.
struct RunRequest {
  std::string scenario;
  Plan plan;
};

std::string encode(const RunRequest& request);
std::string encode(const Outcome& outcome);
RunRequest decode_request(const std::string& bytes);
Outcome decode_outcome(const std::string& bytes);

}  // namespace lastref::harness
