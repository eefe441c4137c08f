#include "bench/nothing.hpp"

#include <optional>

namespace lastref::bench {

void add_nothing(Functions& functions) {
  const Status added = functions.add("nothing", [](const auto&, auto) { return Value(); });
  LASTREF_ASSERT(added.has_value());
}

Outcome<List> run_nothing(Parallel& parallel, std::int64_t tasks) {
  return parallel.run([left = tasks]() mutable -> std::optional<Task> {
    return left-- > 0 ? std::optional(Task{"nothing"}) : std::nullopt;
  });
}

}  // namespace lastref::bench
