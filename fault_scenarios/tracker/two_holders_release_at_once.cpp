#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::size_t> clients = {
    .name = "clients", .usual = 2, .values = {1, 2, 3}, .unit = "processes"};
constexpr std::string_view letters = "abc";

Status root(Stage& stage) {
  const std::vector<Resource> files = files_of(stage, "shared.bin");
  const std::string_view all = letters.substr(0, stage.value(clients));
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(make_all(stage, files));
  for (const char each : all) {
    LASTREF_CHECK(stage.start(std::string("client_") + each));
  }
  for (const char each : all) {
    stage.await(std::string(1, each) + " holds");
  }
  LASTREF_CHECK(release_all(stage, files));
  stage.tell("go");
  for (const char each : all) {
    stage.await(std::string(1, each) + " is done");
  }
  return ok();
}

Status client(Stage& stage, const std::string& self) {
  const std::vector<Resource> files = files_of(stage, "shared.bin");
  LASTREF_CHECK(stage.product().join());
  LASTREF_CHECK(hold_all(stage, files));
  stage.tell(self + " holds");
  if (!stage.await("go")) {
    return ok();
  }
  must_all_exist(stage, files);
  Status released = release_all(stage, files);
  stage.tell(self + " is done");
  return released;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two processes release the last two references to a file at the same time. It is removed "
          "once, and no process hangs.",
      .rows = {"T3", "T9"},
      .roles = {{"root", root},
                {"client_a", [](Stage& stage) { return client(stage, "a"); }},
                {"client_b", [](Stage& stage) { return client(stage, "b"); }},
                {"client_c", [](Stage& stage) { return client(stage, "c"); }},
                {"leader", lead_tree}},
      .parameters = {clients, name_count, tree_starter},
  };
});

}  // namespace
}  // namespace lastref::harness
