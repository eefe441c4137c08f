#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

/// What the users of numpy do to a map. Each of them came back wrong in the peers.
std::vector<Array> views_of(const Array& map) {
  const std::vector<Slice> backwards{{.step = -1}, {.step = -2}};
  const std::vector<Slice> inner{{.start = 1}, {.start = 3, .stop = 17}};
  std::vector<Array> views{map, map.transpose()};
  for (const auto& slices : {backwards, inner}) {
    views.push_back(map.slice(slices).value());
  }
  views.push_back(map.pick(0, 2).value().broadcast_to({3, 50}).value());
  return views;
}

/// The file of somebody, which is nobody's temporary.
Result<Array> users_map(Stage& stage, MapMode mode) {
  return map_npy(stage.os(), stage.product().file("users.npy").name, mode);
}

void root(Stage& stage) {
  const Resource file = stage.product().file("users.npy");
  if (!stage.product().lead() || !stage.product().register_name(file)) {
    return;
  }
  const Status made = stage.product().operation("dump", [&]() -> Status {
    const Array elements = few_numbered().reshape({8, 50}).value();
    LASTREF_TRY(fd, os::open_file(stage.os(), file.name, {.write = true, .create = true}));
    LASTREF_CHECK(write_npy(stage.os(), fd.get(), elements));
    return fd.close();
  });
  Parent parent(stage);
  if (!made || !parent || !stage.start("worker")) {
    return;
  }
  const auto map = users_map(stage, MapMode::read_write);
  if (!map) {
    return;
  }
  int number = 0;
  for (const Array& view : views_of(*map)) {
    const std::string word = "view " + std::to_string(number++);
    if (!parent.send(word, view)) {
      return;
    }
    await_arrival(stage, word);
  }
  Worker receiver(stage);
  if (const auto back = receiver.receive("back")) {
    must_equal(stage, *back, map->transpose());
  }
  static_cast<void>(stage.product().release(file));
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  const Array elements = few_numbered().reshape({8, 50}).value();
  int number = 0;
  for (const Array& expected : views_of(elements)) {
    const auto view = worker.receive("view " + std::to_string(number++));
    if (!view) {
      return;
    }
    must_equal(stage, *view, expected);
    if (stage.is_undisturbed() && !view->memory()->file()) {
      stage.refute("R3: a view of a file travels as one", "it was copied");
    }
  }
  const auto map = users_map(stage, MapMode::read);
  BackwardReducer backward(stage.os(), worker.receiver());
  static_cast<void>(stage.product().operation("reduce", [&]() -> Status {
    LASTREF_CHECK(map);
    LASTREF_TRY(sent, backward.reduce(map->transpose()));
    LASTREF_TRY(bytes, encode(sent.reduction));
    stage.send("back", text_of_bytes(bytes));
    return ok();
  }));
}

}  // namespace

Scenario views_of_a_file_travel() {
  return {
      .name = "arrays/views_of_a_file_travel",
      .sentence =
          "Views of a user's file, transposed, backwards and broadcast, travel to a worker and one "
          "comes back, all as maps of that file if nothing is in the way.",
      .rows = {"R2", "R3", "R6", "R8"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
