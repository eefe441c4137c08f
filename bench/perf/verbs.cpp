#include "bench/perf/verbs.hpp"

namespace lastref::perf {

void add_bench(CLI::App& verb, Globs& globs) {
  verb.add_option("--bench", globs, "Benchmarks, by a pattern as shells have it; else all")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

}  // namespace lastref::perf
