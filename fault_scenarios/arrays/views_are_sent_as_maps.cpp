#include <array>
#include <cstring>
#include <optional>

#include <lastref/joblib.hpp>
#include <lastref/npy.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Operations that numpy users apply to a map. Each of them came back wrong in the peers.
std::vector<Array> views_of(const Array& map) {
  const std::vector<Slice> backwards{{.step = -1}, {.step = -2}};
  const std::vector<Slice> inner{{.start = 1}, {.start = 3, .stop = 17}};
  std::vector<Array> views{map, map.transpose().value()};
  for (const auto& slices : {backwards, inner}) {
    views.push_back(map.slice(slices).value());
  }
  views.push_back(map.pick(0, 2).value().broadcast_to({3, 50}).value());
  return views;
}

/// The first element, identified by its number in few_numbered().
std::int32_t first_of(const Array& view) {
  std::int32_t element = 0;
  std::memcpy(&element, view.data(), sizeof element);
  return element;
}

/// Replaces the element that few_numbered() begins with.
void store_first(const Array& view, std::int32_t element) {
  std::memcpy(view.mutable_data().value(), &element, sizeof element);
}

constexpr std::int32_t stored_by_root = 7000;
constexpr std::int32_t stored_by_worker = 8000;

/// Checks the absolute values, and not only that both sides agree.
void must_begin_where_they_should(Stage& stage, const std::vector<Array>& views) {
  constexpr std::array firsts = {0, 0, 399, 53, 100};
  for (std::size_t at = 0; at < firsts.size(); ++at) {
    if (first_of(views[at]) != firsts[at]) {
      stage.refute(
          "R3: a view shows its elements of the file",
          "view " + std::to_string(at) + " begins with " + std::to_string(first_of(views[at])));
    }
  }
}

/// The file of a user, which is not a temporary one.
Result<Array> users_map(Stage& stage, MapMode mode) {
  return map_npy(stage.os(), stage.product().file("users.npy").name, mode);
}

/// A copy-on-write map of the file: what is stored there is in no file, so it has to travel by
/// value.
Status send_own(Stage& stage, Parent& parent) {
  LASTREF_TRY(own, users_map(stage, MapMode::copy_on_write));
  store_first(own, stored_by_root);
  LASTREF_CHECK(parent.send("own", own));
  await_arrival(stage, "own");
  return ok();
}

/// A view of the file, after the worker has stored something there.
Status receive_back(Stage& stage, const Array& map) {
  Worker receiver(stage);
  LASTREF_TRY(back, receiver.receive("back"));
  must_equal(stage, back, map.transpose().value());
  if (stage.is_undisturbed() && !back.memory()->file()) {
    stage.refute("R11: maps are reduced on the way to the parent too", "it was copied");
  }
  if (stage.is_undisturbed() && first_of(map) != stored_by_worker) {
    stage.refute("R8: a store into a map \"r+\" changes its file",
                 "it begins with " + std::to_string(first_of(map)));
  }
  return ok();
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("users.npy");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(dump(stage, file.name, few_numbered().reshape({8, 50}).value()));
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_TRY(map, users_map(stage, MapMode::read_write));
  int number = 0;
  for (const Array& view : views_of(map)) {
    const std::string signal = "view " + std::to_string(number++);
    LASTREF_CHECK(parent.send(signal, view));
    await_arrival(stage, signal);
  }
  const Status sent = send_own(stage, parent);
  return first_failure({sent, receive_back(stage, map), product.release(file)});
}

/// With the reducers that the factory installs.
Status send_back(Stage& stage, const Worker& worker) {
  joblib::ReducerRegistry forward;
  joblib::ReducerRegistry backward;
  LASTREF_CHECK(joblib::get_memmapping_reducers(
      stage.os(),
      {.references = references_of(stage), .resources = nullptr, .receiver = worker.receiver()},
      {},
      forward,
      backward));
  const auto map = users_map(stage, MapMode::read);
  return stage.product().operation("reduce", [&]() -> Status {
    LASTREF_CHECK(map);
    LASTREF_TRY(transposed, map->transpose());
    LASTREF_TRY(sent, reduce(backward, transposed));
    LASTREF_TRY(bytes, encode_reduction(sent.reduction));
    stage.send("back", text_of_bytes(bytes));
    return ok();
  });
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  const Array elements = few_numbered().reshape({8, 50}).value();
  std::optional<Array> whole;
  int number = 0;
  must_begin_where_they_should(stage, views_of(elements));
  for (const Array& expected : views_of(elements)) {
    LASTREF_TRY(view, worker.receive("view " + std::to_string(number++)));
    must_equal(stage, view, expected);
    if (stage.is_undisturbed() && !view.memory()->file()) {
      stage.refute("R3: a view of a file is sent as a map", "it was copied");
    }
    whole = whole ? whole : view;
  }
  LASTREF_TRY(own, worker.receive("own"));
  if (whole->writable()) {
    store_first(*whole, stored_by_worker);
  }
  store_first(elements, stored_by_root);
  must_equal(stage, own, elements);
  return send_back(stage, worker);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Transposed, reversed and broadcast views of a user's file are sent to a worker, and one "
          "comes back. All are maps of that file if nothing prevents it. What the worker stores "
          "there is visible to all. The contents of a copy-on-write map are sent by value.",
      .rows = {"R2", "R3", "R6", "R8", "R11"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
