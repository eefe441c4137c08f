#include "harness/scenario/product_limits.hpp"

#include <algorithm>

#include "harness/platform/named_enum.hpp"
#include "impl/os/small_limits.hpp"

namespace lastref::harness {
namespace {

LASTREF_NAMED_ENUM(LimitSizes, (usual, "usual"), (small, "small"));

}  // namespace

DeclaredParameter declared_limits() {
  return Parameter<LimitSizes>{.name = limits_parameter, .usual = LimitSizes::usual};
}

const os::Limits& limits_in(std::span<const ParameterValue> parameters) noexcept {
  const auto set = std::ranges::find(parameters, limits_parameter, &ParameterValue::name);
  if (set == parameters.end()) {
    return os::usual_limits;
  }
  if (set->value == name_of(LimitSizes::small)) {
    return os::small_limits;
  }
  const auto row = std::ranges::find(os::limit_rows, set->value, &os::LimitRow::name);
  return row == os::limit_rows.end() ? os::usual_limits : row->alone;
}

}  // namespace lastref::harness
