#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/pool.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/pool_future.hpp"
#include "impl/backends/task_pool.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

std::atomic<bool> is_initialised = false;

}  // namespace

void init(int argc, char** argv) {
  auto& os = os::KernelOs::of_process({.program = this_program});
  is_initialised = true;
  const std::vector<std::string> arguments(argv, argv + argc);
  // Never destroyed: what a task has kept may be used until the end of the process.
  static const auto& functions = *new std::shared_ptr<const Functions>(typed_functions());
  if (const auto code = run_if_spawned(os, *functions, arguments)) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): it is the first call of main.
    std::exit(*code);
  }
}

Tasks::~Tasks() {
  if (!group_) {
    return;
  }
  if (pool_->is_ours()) {
    pool_->close(*group_);
  } else {
    backends::keep_for_good(std::move(pool_));  // As Pool does.
  }
}

Writer Tasks::writer() const {
  return pool_->writer();
}

Status Tasks::add(std::size_t index, Writer own) {
  return pool_->add(group_, index, std::move(own));
}

bool Tasks::is_hungry() const {
  return pool_->is_hungry(*group_);
}

std::optional<Tasks::Finished> Tasks::next() noexcept {
  return pool_->next(*group_);
}

bool Tasks::wait_for(std::chrono::nanoseconds timeout) {
  return pool_->wait_any({&group_, 1}, timeout).has_value();
}

Result<std::optional<std::size_t>> Tasks::wait_any(
    std::span<const Tasks* const> all, std::optional<std::chrono::nanoseconds> timeout) {
  return os::within_memory("futures", [&]() -> Result<std::optional<std::size_t>> {
    std::vector<backends::GroupPtr> groups;
    for (const Tasks* each : all) {
      if (each->pool_ != all.front()->pool_) {
        return failure(std::errc::invalid_argument, "futures of two pools");
      }
      groups.push_back(each->group_);
    }
    return groups.empty() ? std::nullopt : all.front()->pool_->wait_any(groups, timeout);
  });
}

void Tasks::cancel() noexcept {
  pool_->cancel(*group_);
}

Pool::Pool(PoolOptions options) {
  static_cast<void>(os::had_memory([&] {
    options.host = backends::TaskPool::found(options.host);
    os::Os& os = backends::TaskPool::os_of(options.host);
    pool_ = std::make_shared<backends::TaskPool>(os, std::nullopt, std::move(options));
  }));
}

Pool::Pool(Session session, PoolOptions options) {
  static_cast<void>(os::had_memory([&] {
    os::Os& os = *session.os;
    pool_ = std::make_shared<backends::TaskPool>(os, std::move(session), std::move(options));
  }));
}

Pool::Pool(Pool&& other) noexcept
    : pool_(std::move(other.pool_)),
      was_moved_from_(std::exchange(other.was_moved_from_, /*value=*/true)) {}

Pool& Pool::operator=(Pool&& other) noexcept {
  Pool moved(std::move(other));  // The pool that was here ends with it.
  pool_.swap(moved.pool_);
  std::swap(was_moved_from_, moved.was_moved_from_);
  return *this;
}

Pool::~Pool() {
  if (!pool_) {
    return;
  }
  if (pool_->is_ours()) {
    pool_->end();
  } else {
    backends::keep_for_good(std::move(pool_));  // Its thread is not in this process.
  }
}

/// Whether the pool was made, and its workers can start.
Status Pool::check() const {
  if (was_moved_from_) {
    return failure(std::errc::invalid_argument, "a pool that was moved from");
  }
  LASTREF_CHECK(backends::check_made(pool_));
  return is_initialised || pool_->is_hosted() || pool_->has_session()
             ? ok()
             : failure(std::errc::operation_not_permitted,
                       "main has to call lastref::init(argc, argv) before a pool is used");
}

Writer Pool::writer() const {
  return check() ? pool_->writer() : Writer();
}

Result<Tasks> Pool::begin(const TypedFunction& function,
                          std::optional<Writer> shared,
                          std::optional<TaskOptions> options) {
  return os::within_memory("a pool", [&]() -> Result<Tasks> {
    LASTREF_CHECK(check());
    LASTREF_TRY(group, pool_->begin(function, std::move(shared), options));
    return Tasks(pool_, std::move(group));
  });
}

Result<Array> Pool::zeros_of(DType dtype, Shape shape) {
  return os::within_memory("an array", [&]() -> Result<Array> {
    LASTREF_CHECK(check());
    return pool_->zeros(std::move(dtype), std::move(shape));
  });
}

}  // namespace lastref
