// SimLimiter: the limits of a simulated system.
#pragma once

#include "harness/scenario/limits.hpp"
#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

class SimLimiter final : public Limits {
 public:
  SimLimiter(SimRun& run, Member& member) noexcept : run_(run), member_(member) {}

  bool storage(std::uint64_t bytes, std::uint64_t inodes) override;
  void free_storage() override;
  bool copying_storage(std::uint64_t bytes) override;
  void file_size(std::uint64_t bytes) override;
  bool descriptors(const std::string& role, int more) override;
  bool obey_modes() override { return false; }

 private:
  SimRun& run_;
  Member& member_;
};

}  // namespace lastref::harness::sim
