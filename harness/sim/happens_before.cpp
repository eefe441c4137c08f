#include "harness/sim/happens_before.hpp"

#include <array>
#include <cstddef>

#include "harness/choice/choices.hpp"

namespace lastref::harness::sim {
namespace {

/// Their addresses are those of what is shared; each step accesses the last.
constexpr std::array<char, static_cast<std::size_t>(Shared::count) + 1> shared{};
constexpr const char* everything = &shared.back();

/// Depends on the order of its arguments.
std::uint64_t mixed(std::uint64_t one, std::uint64_t other) noexcept {
  std::uint64_t state = one * 0x9e3779b97f4a7c15U + other;
  return next_random(state);
}

}  // namespace

void HappensBefore::touch(const void* object, Access access) {
  Access& known = touched_.try_emplace(object, access).first->second;
  known = access == Access::write ? access : known;
}

void HappensBefore::touch(Shared what, Access access) {
  touch(&shared[static_cast<std::size_t>(what)], access);
}

void HappensBefore::touch_all() {
  touch(everything, Access::write);
}

void HappensBefore::end_step(std::uint32_t actor, const void* process) {
  touch(process, Access::write);
  touch(everything, Access::read);
  // A sum, as the order in which one step accesses its objects follows from the step.
  std::uint64_t before = 0;
  for (const auto& [object, access] : touched_) {
    const Accesses& last = objects_[object];
    const std::uint64_t reads = access == Access::write ? last.reads : 0;
    before += mixed(mixed(last.write, reads), static_cast<std::uint64_t>(access));
  }
  const std::uint64_t step = mixed(before, actor + 1);
  for (const auto& [object, access] : touched_) {
    Accesses& last = objects_[object];
    if (access == Access::write) {
      last = {.write = step, .reads = 0};
    } else {
      last.reads += step;
    }
  }
  touched_.clear();
  sum_ += step;
}

}  // namespace lastref::harness::sim
