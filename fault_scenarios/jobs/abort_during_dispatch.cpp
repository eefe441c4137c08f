#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Lets other threads act before a file is counted.
class SlowReferences final : public References {
 public:
  explicit SlowReferences(Stage& stage) : stage_(stage), references_(references_of(stage)) {}

  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>& identity) override {
    if (resource.type == ResourceType::file) {
      stage_.tell("a batch is being sent");
      stage_.await("the pool has ended");
    }
    return references_->register_name(resource, identity);
  }
  Status identify(const Resource& resource, const std::optional<Identity>& identity) override {
    return references_->identify(resource, identity);
  }
  Status hold(const Resource& resource) override { return references_->hold(resource); }
  Status release(const Resource& resource) override { return references_->release(resource); }
  Status forget(const Resource& resource) override { return references_->forget(resource); }
  bool is_attributed() const noexcept override { return references_->is_attributed(); }

 private:
  Stage& stage_;
  std::shared_ptr<References> references_;
};

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  Session session = session_of(stage);
  session.references = std::make_shared<SlowReferences>(stage);
  ProcessBackend backend(session, functions_of(stage));
  LASTREF_CHECK(product.operation("configure", [&] {
    return status_of(backend.configure({.n_jobs = 2, .arrays = {.max_nbytes = large}}));
  }));
  bool is_sent = false;
  const auto thread = stage.os().start_thread([&] {
    is_sent = backend.apply_async({{"sum", {numbered()}}}, nullptr).has_value();
    stage.tell("a batch is being sent");  // In case the dump failed before that.
  });
  LASTREF_CHECK(status_of(thread));
  stage.await("a batch is being sent");
  const Status aborted = product.operation(
      "abort", [&] { return status_of(backend.abort_everything(/*ensure_ready=*/false)); });
  const std::size_t left = stage.processes("worker_1") + stage.processes("worker_2");
  if (stage.is_undisturbed() && left > 0) {
    stage.refute("B8: no worker is left when an abort returns",
                 std::to_string(left) + " workers still run");
  }
  stage.tell("the pool has ended");
  (*thread)->join();
  if (stage.is_undisturbed() && is_sent) {
    stage.refute("B8: an aborted pool accepts no batch", "a batch was accepted");
  }
  return first_failure(
      {aborted, product.operation("terminate", [&] { return backend.terminate(); })});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A pool is aborted while another thread dumps an array for it. When the abort returns, "
          "its workers are dead, and the batch is refused.",
      .rows = {"B8"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .outside_matrix = "it tests threads: other job scenarios make the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
