#include <utility>

#include <lastref/joblib.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Options that all differ from the defaults.
ForwardOptions parents_options() {
  return {.max_nbytes = large,
          .mmap_mode = MapMode::copy_on_write,
          .unlink_on_gc_collect = false,
          .prewarm = Prewarm::automatic,
          .verbose = 2};
}

/// The first elements.
Array part(std::int64_t elements) {
  return numbered().slice(std::vector<Slice>{{.stop = elements}}).value().copy().value();
}

Array small() {
  return part(10);
}

/// Large enough for a file, and small enough for a signal of a Stage.
Array returned() {
  return part(300);
}

/// Receives what the worker's reducers make from arrays.
Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  stage.send("options", text_of_bytes(encode_forward_options(parents_options()).value()));
  LASTREF_CHECK(stage.start("worker"));
  Worker receiver(stage);
  const std::pair<const char*, Array> expected[] = {
      {"made", numbered()}, {"reused", numbered()}, {"small", small()}, {"back", returned()}};
  for (const auto& [signal, sent] : expected) {
    LASTREF_TRY(array, receiver.receive(signal));
    must_equal(stage, array, sent);
  }
  return ok();
}

/// Sends with reducers of a registry, one array after another.
class Sender {
 public:
  explicit Sender(Stage& stage) : stage_(stage) {}

  Status send(const joblib::ReducerRegistry& registry,
              const std::string& signal,
              const Array& array) {
    return stage_.product().operation("reduce", [&]() -> Status {
      LASTREF_TRY(sent, reduce(registry, array));
      LASTREF_TRY(bytes, encode_reduction(sent.reduction));
      stage_.send(signal, text_of_bytes(bytes));
      await_arrival(stage_, signal);
      return sent.arrived();
    });
  }

 private:
  Stage& stage_;
};

Status worker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  LASTREF_TRY(bytes, stage.receive("options"));
  const auto options = decode_forward_options(os::bytes_of(bytes));
  if (!options || *options != parents_options()) {
    stage.refute("R9: every option of a reducer is transferred", "other options arrived");
    return ok();
  }
  const auto references = references_of(stage);
  std::shared_ptr<TemporaryResources> resources;
  LASTREF_CHECK(product.operation("make a manager", [&]() -> Status {
    LASTREF_TRY(manager, TemporaryResources::make(stage.os(), references, {.context = "call"}));
    resources = std::move(manager);
    return ok();
  }));
  const auto receiver = std::make_shared<Receiver>(stage.os(), references);
  joblib::ReducerRegistry forth;
  joblib::ReducerRegistry back;
  LASTREF_CHECK(joblib::get_memmapping_reducers(
      stage.os(), {references, resources, receiver}, *options, forth, back));
  Sender sender(stage);
  const Array array = numbered();
  const auto send_all = [&]() -> Status {
    LASTREF_CHECK(sender.send(forth, "made", array));
    LASTREF_CHECK(sender.send(forth, "reused", array));
    LASTREF_CHECK(sender.send(forth, "small", small()));
    return sender.send(back, "back", returned());
  };
  const Status sent = send_all();
  return first_failure(
      {sent, product.operation("clean up", [&] { return resources->clean_up(); })});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A worker gets the options of its parent's reducer and installs reducers with them. It "
          "reports each array that it sends to the parent, and each arrives.",
      .rows = {"R9", "R11", "R5"},
      .roles = {{"root", root}, {"worker", worker}},
      .expected_noise = {"made a map of an array (shape (1000), dtype <i4) at ",
                         "reuses ",
                         "sends an array by value (shape (10), dtype <i4)"},
      // The root holds files until its end that are not released together with their views.
      .possible_noise = {"the last process of the tree has ended: removing 1 file: file:"},
  };
});

}  // namespace
}  // namespace lastref::harness
