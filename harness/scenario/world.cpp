#include "harness/scenario/world.hpp"

#include <cstring>

#include <fmt/format.h>

namespace lastref::harness {

std::string to_text(const Crossing& crossing) {
  const char* name = crossing.error > 0 ? strerrorname_np(crossing.error) : nullptr;
  return fmt::format("{}{}{}{}",
                     to_text(crossing.site),
                     crossing.error == -1 ? " never came back"
                     : name != nullptr    ? fmt::format(" = {}", name)
                                          : fmt::format(" = {}", crossing.error),
                     crossing.injected ? " (injected)" : "",
                     crossing.waited ? " (waited)" : "");
}

}  // namespace lastref::harness
