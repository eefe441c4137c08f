#include "fault_scenarios/support/growth.hpp"

#include <string>

namespace lastref::harness {
namespace {

constexpr const char* claim = "E12: nothing grows with the number of calls";

}  // namespace

void must_not_grow(Stage& stage, const char* what, std::uint64_t before, std::uint64_t now) {
  if (now > before && stage.is_undisturbed()) {
    stage.refute(
        claim,
        std::string(what) + ": " + std::to_string(before) + ", and now " + std::to_string(now));
  }
}

Memory memory_of(Stage& stage) {
  return {.heap = stage.heap_in_use(), .mapped = stage.mapped()};
}

void must_not_grow(Stage& stage, const Memory& before, const Memory& now, std::uint64_t slack) {
  const bool is_more = before.heap && now.heap && *now.heap > *before.heap + slack;
  if (is_more && stage.is_undisturbed()) {
    // The exact amount differs between runs.
    stage.refute(claim, "the heap has grown by more than " + std::to_string(slack) + " bytes");
  }
  must_not_grow(stage, "bytes that are mapped", before.mapped, now.mapped);
}

}  // namespace lastref::harness
