// noop_tasks: tasks that do nothing, to measure the overhead of tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <lastref/parallel.hpp>

namespace lastref::bench {

/// Adds the function of these tasks.
inline void add_noop(Functions& functions) {
  const Status added = functions.add("noop", [](const auto&, auto) { return Value(); });
  LASTREF_ASSERT(added.has_value());
}

/// One call with `tasks` tasks, of which each is asked for.
inline Outcome<List> run_noops(Parallel& parallel, std::int64_t tasks) {
  return parallel.run([left = tasks]() mutable -> std::optional<Task> {
    return left-- > 0 ? std::optional(Task{"noop"}) : std::nullopt;
  });
}

/// The same, with tasks that are known from the start.
inline Outcome<List> run_noop_list(Parallel& parallel, std::int64_t tasks) {
  return parallel.run(std::vector<Task>(static_cast<std::size_t>(tasks), Task{"noop"}));
}

}  // namespace lastref::bench
