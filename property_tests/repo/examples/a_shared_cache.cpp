// a_shared_cache: a value that one worker has computed is not computed again by another.
//
// The cache is a file that both workers map; the root removes it at the end.
#include <cstdio>
#include <cstring>

#include <lastref/kernel_os.hpp>
#include <lastref/parallel.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/worker.hpp>

using lastref::MultiprocessFileCache;
using lastref::Result;
using lastref::Value;

/// The number of steps from `number` to 1 (Collatz), taken from the cache if it is there.
Result<Value> steps_from(const lastref::TaskContext& context, const lastref::Arguments& arguments) {
  LASTREF_TRY(handle, arguments.as<std::string>(0));
  LASTREF_TRY(number, arguments.as<std::int64_t>(1));
  LASTREF_TRY(cache, MultiprocessFileCache::attach(*context.session.os, handle));
  const auto slot = static_cast<std::uint64_t>(number);
  std::int64_t steps = 0;
  LASTREF_TRY(known, cache->get(slot));
  if (known) {
    std::memcpy(&steps, known->data(), sizeof steps);
    return steps;
  }
  for (std::int64_t at = number; at != 1; ++steps) {
    at = at % 2 == 0 ? at / 2 : 3 * at + 1;
  }
  LASTREF_TRY(stored, cache->put(slot, std::as_bytes(std::span(&steps, 1))));
  static_cast<void>(stored);  // False if the other worker was faster, with the same.
  return steps;
}

int main(int argc, char** argv) {
  auto& os = lastref::os::KernelOs::of_process({.program = lastref::this_program});
  const auto functions = std::make_shared<lastref::Functions>();
  if (const auto added = functions->add("steps_from", steps_from); !added) {
    std::fprintf(stderr, "no function: %s\n", describe(added.error()).c_str());
    return 1;
  }
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::run_if_spawned(os, *functions, arguments)) {
    return *code;  // It was a worker.
  }

  const auto session = lastref::Session::lead(os);
  const auto cache = MultiprocessFileCache::make(os, session.references, 1000);
  if (!cache) {
    std::fprintf(stderr, "no cache: %s\n", describe(cache.error()).c_str());
    return 1;
  }
  lastref::Parallel parallel(session, functions, {.n_jobs = 2});
  std::vector<lastref::Task> tasks;
  for (const std::int64_t number : {27, 97, 27, 97, 871, 27}) {
    tasks.push_back({"steps_from", {(*cache)->handle(), number}});
  }
  const auto steps = parallel.run(std::move(tasks));
  if (!steps) {
    std::fprintf(stderr, "no steps: %s\n", describe(steps.error()).c_str());
    return 1;
  }
  for (const Value& each : *steps) {
    std::printf("%lld\n", static_cast<long long>(each.as<std::int64_t>().value_or(-1)));
  }
  const auto known = (*cache)->get(27);
  std::printf("27 is%s in the cache\n", known && *known ? "" : " not");
  return 0;
}
