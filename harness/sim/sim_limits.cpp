#include "harness/sim/sim_limits.hpp"

#include <algorithm>
#include <cstddef>

namespace lastref::harness::sim {
namespace {

constexpr std::uint64_t page_size = 4096;
/// Far from overflowing sums.
constexpr std::uint64_t storage_max = std::uint64_t{1} << 40U;

}  // namespace

void SimKernel::limit_storage(std::uint64_t bytes, std::uint64_t inodes) noexcept {
  const std::uint64_t pages = (std::min(bytes, storage_max) + page_size - 1) / page_size;
  limits.bytes = bytes_ + pages * page_size;
  limits.inodes = inodes_ + std::min(inodes, storage_max);
}

void SimKernel::limit_copying_storage(std::uint64_t bytes) noexcept {
  const std::uint64_t pages = (std::min(bytes, storage_max) + page_size - 1) / page_size;
  limits.copying_bytes = elsewhere_bytes_ + pages * page_size;
}

void SimKernel::free_storage() noexcept {
  limits.bytes = SimLimits{}.bytes;
  limits.inodes = SimLimits{}.inodes;
}

bool SimLimiter::storage(std::uint64_t bytes, std::uint64_t inodes) {
  run_.machine.kernel.limit_storage(bytes, inodes);
  return true;
}

void SimLimiter::free_storage() {
  run_.machine.kernel.free_storage();
}

bool SimLimiter::copying_storage(std::uint64_t bytes) {
  run_.machine.kernel.limit_copying_storage(bytes);
  return true;
}

void SimLimiter::file_size(std::uint64_t bytes) {
  member_.system->process().file_size_max = bytes;
}

bool SimLimiter::descriptors(const std::string& role, int more) {
  bool any = false;
  for (const Member* each : run_.by_index) {
    SimProcess& process = each->system->process();
    if (each->plays(role) && process.state == SimProcess::State::running) {
      process.fds_max = static_cast<std::size_t>(
          std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(process.fds_open) + more, 0));
      any = true;
    }
  }
  return any;
}

}  // namespace lastref::harness::sim
