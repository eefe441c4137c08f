#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr int names = 1500;

Resource name_of(int number) {
  return {.type = ResourceType::noop, .name = "name " + std::to_string(number)};
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(stage.start("client_a"));
  LASTREF_CHECK(stage.start("client_b"));
  stage.await("a holds");
  stage.await("b holds");
  stage.await("never sent 1");  // Waits until the tracker was asked. So do the next ones.
  stage.kill("client_a");
  stage.await("never sent 2");
  stage.tell("b may go");
  stage.await("b holds half");
  stage.await("never sent 3");
  stage.tell("b may end");
  stage.await("b is done");
  return product.client().probe();
}

/// Every third name has two references.
bool is_held_twice(int number) {
  return number % 3 == 0;
}

Status hold_all(Product& product) {
  for (int number = 0; number < names; ++number) {
    LASTREF_CHECK(product.register_name(name_of(number)));
    if (is_held_twice(number)) {
      LASTREF_CHECK(product.hold(name_of(number)));
    }
  }
  return ok();
}

/// Every second name, from `first` on.
Status release_half(Product& product, int first) {
  for (int number = first; number < names; number += 2) {
    LASTREF_CHECK(product.release(name_of(number)));
    if (is_held_twice(number)) {
      LASTREF_CHECK(product.release(name_of(number)));
    }
  }
  return ok();
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(hold_all(product));
  stage.tell("a holds");
  stage.stay_until_killed();
  return ok();
}

Status client_b(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  const Status held = hold_all(product);
  stage.tell("b holds");
  stage.await("b may go");
  const Status released = release_half(product, 0);
  stage.tell("b holds half");
  stage.await("b may end");
  const Status released_rest = release_half(product, 1);
  stage.tell("b is done");
  return first_failure({held, released, released_rest});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two processes hold 1,500 names, some of them twice. One is killed, and the other "
          "releases half. Every count is exact at all times, in answers of many packets.",
      .rows = {"T11", "T9"},
      .roles = {{"root", root}, {"client_a", client_a}, {"client_b", client_b}},
      .outside_matrix = "it tests size and has too many sites",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
