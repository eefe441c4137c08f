#include <memory>
#include <string>
#include <vector>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::size_t> threads = {
    .name = "threads", .usual = 3, .values = {1, 2, 3, 5}, .unit = "threads"};

/// Releases what it holds, and nothing that the root holds.
Status hold_both(Product& product, const Resource& shared, const Resource& own) {
  LASTREF_CHECK(product.hold(shared));
  Status registered = product.register_name(own);
  if (registered) {
    registered = product.release(own);
  }
  return first_failure({registered, product.release(shared)});
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource shared = product.file("shared.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(shared));
  LASTREF_CHECK(product.make(shared));
  tracker::Client& client = product.client();
  std::vector<Status> done(stage.value(threads));
  std::vector<std::unique_ptr<os::Thread>> running;
  for (std::size_t number = 0; number < done.size(); ++number) {
    const Resource own = product.file("own " + std::to_string(number));
    const auto live = [&product, &mine = done[number], shared, own] {
      mine = hold_both(product, shared, own);
    };
    const Status started = product.operation("start a thread", [&]() -> Status {
      LASTREF_TRY(thread, stage.os().start_thread(live));
      running.push_back(std::move(thread));
      return ok();
    });
    if (!started) {
      done[number] = started;
    }
  }
  for (const auto& thread : running) {
    thread->join();
  }
  Status probed = client.probe();
  for (const Status& each : done) {
    probed = first_failure({each, probed});
  }
  product.must_exist(shared);
  const auto counts = client.counts();
  if (probed && counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: threads lose no count", std::to_string(counts->size()));
  }
  return first_failure({probed, product.release(shared)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Three threads of one process register, hold and release through one client. Every count "
          "is exact.",
      .rows = {"T8"},
      .roles = {{"root", root}},
      .parameters = {threads},
  };
});

}  // namespace
}  // namespace lastref::harness
