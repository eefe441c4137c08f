#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

constexpr int threads = 3;

void root(Stage& stage) {
  const Resource shared = stage.product().file("shared.bin");
  if (!stage.product().lead() || !stage.product().register_name(shared) ||
      !stage.product().make(shared)) {
    return;
  }
  std::vector<std::unique_ptr<os::Thread>> running;
  for (int number = 0; number < threads; ++number) {
    auto thread = stage.os().start_thread([&stage, shared, number] {
      const Resource own = stage.product().file("own " + std::to_string(number));
      static_cast<void>(stage.product().client().hold(shared));
      static_cast<void>(stage.product().client().register_name(own));
      static_cast<void>(stage.product().client().release(own));
      static_cast<void>(stage.product().client().release(shared));
    });
    if (thread) {
      running.push_back(*std::move(thread));
    }
  }
  for (const auto& thread : running) {
    thread->join();
  }
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(shared);
  const auto counts = stage.product().client().counts();
  if (counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: threads lose no count", std::to_string(counts->size()));
  }
  static_cast<void>(stage.product().release(shared));
}

}  // namespace

Scenario threads_share_a_client() {
  return {
      .name = "tracker/threads_share_a_client",
      .sentence =
          "Three threads of one process register, hold and release through one client; "
          "every count is exact.",
      .rows = {"T8"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
