#include "harness/scenario/stage.hpp"

#include <algorithm>

#include "harness/scenario/product_limits.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {
namespace {

/// A signal that is never given.
constexpr const char* ungiven = "(no role sends this signal)";

}  // namespace

Result<std::string> Stage::tree_to_join() {
  return product_.has_client() ? product_.client().tree() : Result<std::string>(std::string());
}

bool Stage::has_small_limits() const {
  return &limits_in(setting_.parameters) != &os::usual_limits;
}

const DeclaredParameter& Stage::declared(std::string_view parameter) const {
  const auto& all = setting_.scenario.parameters;
  const auto found = std::ranges::find(all, parameter, &DeclaredParameter::name);
  LASTREF_ASSERT(found != all.end());
  return *found;
}

std::string_view Stage::value_of(const DeclaredParameter& parameter) const {
  const auto set = std::ranges::find(setting_.parameters, parameter.name, &ParameterValue::name);
  return set == setting_.parameters.end() ? parameter.usual : set->value;
}

std::int64_t Stage::number_of(std::string_view parameter) const {
  const DeclaredParameter& one = declared(parameter);
  const auto* const value = one.value_named(value_of(one));
  LASTREF_ASSERT(value != nullptr);
  return value->number;
}

void Stage::wait_for_quiet() {
  await(ungiven);
}

}  // namespace lastref::harness
