#include "harness/scenario/world.hpp"

#include <fmt/format.h>

#include "harness/platform/names.hpp"

namespace lastref::harness {

std::string to_text(const Crossing& crossing) {
  return fmt::format(
      "{}{}{}{}",
      to_text(crossing.site),
      crossing.error == -1 ? " never came back" : " = " + name_of_error(crossing.error),
      crossing.injected ? " (injected)" : "",
      crossing.waited ? " (waited)" : "");
}

}  // namespace lastref::harness
