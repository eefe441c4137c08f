#include "harness/scenario/stage.hpp"

#include <algorithm>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {
namespace {

/// A signal that is never given.
constexpr const char* ungiven = "(no role sends this signal)";

}  // namespace

Result<std::string> Stage::tree_to_join() {
  return product_.has_client() ? product_.client().tree() : Result<std::string>(std::string());
}

std::int64_t Stage::number_of(std::string_view parameter) const {
  const auto& all = setting_.scenario.parameters;
  const auto declared = std::ranges::find(all, parameter, &DeclaredParameter::name);
  LASTREF_ASSERT(declared != all.end());
  const auto set = std::ranges::find(setting_.parameters, parameter, &ParameterValue::name);
  const auto* const value =
      declared->value_named(set == setting_.parameters.end() ? declared->usual : set->value);
  LASTREF_ASSERT(value != nullptr);
  return value->number;
}

void Stage::wait_for_quiet() {
  await(ungiven);
}

}  // namespace lastref::harness
