// Tree: a process tree of one process with a tracker, for benchmarks.
#pragma once

#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include <lastref/kernel_os.hpp>
#include <lastref/task.hpp>
#include <lastref/tracker_client.hpp>

#include "bench/shm_folder.hpp"
#include "bench/slowed_os.hpp"

namespace lastref::bench {

/// A tree of one process, in a runtime folder of its own.
class Tree {
 public:
  /// `program` is the program of its children; empty: lastref in the folder of this program. Throws
  /// std::system_error if the runtime folder cannot be created.
  explicit Tree(const std::string& program = {});
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() = default;

  bool ready(benchmark::State& state) {
    if (const auto tree = client_->tree(); !tree) {
      state.SkipWithError(describe(tree.error()).c_str());
      return false;
    }
    return true;
  }
  /// The kernel, or a slowed one if that is requested.
  os::Os& os() noexcept { return slowed_ ? static_cast<os::Os&>(*slowed_) : kernel_; }
  Session session();
  tracker::Client& client() noexcept { return *client_; }
  const std::shared_ptr<tracker::Client>& shared_client() const noexcept { return client_; }
  Resource file(const std::string& name) const {
    return {ResourceType::file, folder_.path() + name};
  }

 private:
  os::KernelOs kernel_;
  std::unique_ptr<SlowedOs> slowed_;
  ShmFolder folder_;
  std::shared_ptr<tracker::Client> client_;
};

}  // namespace lastref::bench
