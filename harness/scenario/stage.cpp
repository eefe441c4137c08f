#include "harness/scenario/stage.hpp"

namespace lastref::harness {
namespace {

/// A signal that is never given.
constexpr const char* ungiven = "(no role sends this signal)";

}  // namespace

Result<std::string> Stage::tree_to_join() {
  return product_.has_client() ? product_.client().tree() : Result<std::string>(std::string());
}

void Stage::wait_for_quiet() {
  await(ungiven);
}

}  // namespace lastref::harness
