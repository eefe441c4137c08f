#include <array>
#include <cstring>

#include <lastref/npy.hpp>

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

/// Which element it is, by its number in few_numbered().
std::int32_t first_of(const Array& view) {
  std::int32_t element = 0;
  std::memcpy(&element, view.data(), sizeof element);
  return element;
}

/// What is right by itself, and not only the same here as there.
void must_begin_where_they_should(Stage& stage, const std::vector<Array>& views) {
  constexpr std::array firsts = {0, 0, 399, 53, 100};
  for (std::size_t at = 0; at < firsts.size(); ++at) {
    if (first_of(views[at]) != firsts[at]) {
      stage.refute(
          "R3: a view has the elements that it is a view of",
          "view " + std::to_string(at) + " begins with " + std::to_string(first_of(views[at])));
    }
  }
}

/// The file of somebody, which is nobody's temporary.
Result<Array> users_map(Stage& stage, MapMode mode) {
  return map_npy(stage.os(), stage.product().file("users.npy").name, mode);
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
  Worker receiver(stage);
  const Result<Array> back = receiver.receive("back");
  if (back) {
    must_equal(stage, *back, map.transpose());
  }
  return first_failure({status_of(back), product.release(file)});
}

Status worker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  Worker worker(stage);
  const Array elements = few_numbered().reshape({8, 50}).value();
  int number = 0;
  must_begin_where_they_should(stage, views_of(elements));
  for (const Array& expected : views_of(elements)) {
    LASTREF_TRY(view, worker.receive("view " + std::to_string(number++)));
    must_equal(stage, view, expected);
    if (stage.is_undisturbed() && !view.memory()->file()) {
      stage.refute("R3: a view of a file travels as one", "it was copied");
    }
  }
  const auto map = users_map(stage, MapMode::read);
  BackwardReducer backward(stage.os(), worker.receiver());
  return product.operation("reduce", [&]() -> Status {
    LASTREF_CHECK(map);
    LASTREF_TRY(sent, backward.reduce(map->transpose()));
    LASTREF_TRY(bytes, encode(sent.reduction));
    stage.send("back", text_of_bytes(bytes));
    return ok();
  });
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
