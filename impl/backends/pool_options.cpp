#include "impl/backends/pool_options.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace lastref::backends {
namespace {

constexpr std::chrono::hours timeout_max{24 * 365 * 100};

tl::unexpected<Error> refused(const char* option, const std::string& value, const char* expected) {
  return failure(std::errc::invalid_argument,
                 std::string(option) + " is " + value + ", expected " + expected);
}

Status check_count(const char* option, std::optional<std::int64_t> count) {
  return count && *count < 1 ? Status(refused(option, std::to_string(*count), "1 or more")) : ok();
}

}  // namespace

Result<TaskOptions> checked(TaskOptions options) {
  if (options.timeout && options.timeout->count() <= 0) {
    return refused(
        "TaskOptions::timeout", std::to_string(options.timeout->count()) + " ns", "more than 0 ns");
  }
  if (options.retries < 0) {
    return refused("TaskOptions::retries", std::to_string(options.retries), "0 or more");
  }
  if (options.timeout) {
    options.timeout = std::min<std::chrono::nanoseconds>(*options.timeout, timeout_max);
  }
  options.retries = std::min(options.retries, std::numeric_limits<int>::max() - 1);
  return options;
}

Status check(const PoolOptions& options) {
  LASTREF_CHECK(check_count("PoolOptions::workers", options.workers));
  LASTREF_CHECK(check_count("PoolOptions::max_tasks_per_worker", options.max_tasks_per_worker));
  LASTREF_CHECK(check_count("PoolOptions::threads_per_worker", options.threads_per_worker));
  return status_of(checked(options.tasks));
}

}  // namespace lastref::backends
