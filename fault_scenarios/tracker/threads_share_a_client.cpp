#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

constexpr int threads = 3;

void root(Stage& stage) {
  const Resource shared = stage.file("shared.bin");
  if (!stage.lead() || !stage.register_name(shared) || !stage.make(shared)) {
    return;
  }
  std::vector<std::unique_ptr<os::Thread>> running;
  for (int number = 0; number < threads; ++number) {
    auto thread = stage.os().start_thread([&stage, shared, number] {
      const Resource own = stage.file("own " + std::to_string(number));
      static_cast<void>(stage.client().hold(shared));
      static_cast<void>(stage.client().register_name(own));
      static_cast<void>(stage.client().release(own));
      static_cast<void>(stage.client().release(shared));
    });
    if (thread) {
      running.push_back(*std::move(thread));
    }
  }
  for (const auto& thread : running) {
    thread->join();
  }
  static_cast<void>(stage.client().probe());
  stage.must_exist(shared);
  const auto counts = stage.client().counts();
  if (counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: threads lose no count", std::to_string(counts->size()));
  }
  static_cast<void>(stage.release(shared));
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
