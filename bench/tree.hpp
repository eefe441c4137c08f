// Tree: a process tree of one process with a tracker, for benchmarks.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include <lastref/kernel_os.hpp>
#include <lastref/tracker_client.hpp>

namespace lastref::bench {

inline std::string beside_us(const std::string& name) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string self(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return self.substr(0, self.rfind('/') + 1) + name;
}

/// A tree of one process, in a runtime folder of its own.
class Tree {
 public:
  Tree() : os_({.program = beside_us("lastref")}) {
    std::array<char, 32> name{"/tmp/lastref-bench-XXXXXX"};
    folder_ = ::mkdtemp(name.data());
    client_ = tracker::Client::lead(os_, {.runtime_folder = folder_});
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    client_.reset();
    // The tracker removes the folder when it ends; should it be slower than we, it does so later.
    static_cast<void>(::rmdir(folder_.c_str()));
  }

  bool ready(benchmark::State& state) {
    if (const auto tree = client_->tree(); !tree) {
      state.SkipWithError(describe(tree.error()).c_str());
      return false;
    }
    return true;
  }
  os::Os& os() noexcept { return os_; }
  tracker::Client& client() noexcept { return *client_; }
  const std::shared_ptr<tracker::Client>& shared_client() const noexcept { return client_; }
  Resource file(const std::string& name) const { return {ResourceType::file, folder_ + name}; }

 private:
  os::KernelOs os_;
  std::string folder_;
  std::shared_ptr<tracker::Client> client_;
};

}  // namespace lastref::bench
