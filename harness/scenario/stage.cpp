#include "harness/scenario/stage.hpp"

namespace lastref::harness {
namespace {

/// A signal that nobody gives.
constexpr const char* ungiven = "(nobody gives this signal)";

}  // namespace

void Stage::wait_for_quiet() {
  await(ungiven);
}

}  // namespace lastref::harness
