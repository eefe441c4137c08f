// An outsider removes each part of a live tree, in each phase.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/named_enum.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

LASTREF_NAMED_ENUM(Part,
                   (lock, "lock"),
                   (socket, "socket"),
                   (ledger, "ledger"),
                   (tree_folder, "folder"),
                   (runtime_folder, "runtime_folder"),
                   (all, "all"));  ///< One after the other

constexpr std::array parts = {
    Part::lock, Part::socket, Part::ledger, Part::tree_folder, Part::runtime_folder};

constexpr Parameter<Part> removed_part = {.name = "removes", .usual = Part::all};

std::vector<Part> parts_of(Stage& stage) {
  const Part part = stage.value(removed_part);
  return part == Part::all ? std::vector(parts.begin(), parts.end()) : std::vector{part};
}

/// A folder is removed with its content.
void remove(Stage& stage, const std::string& tree, Part part) {
  Outside& outside = stage.outside();
  if (part < Part::tree_folder) {
    outside.unlink(tree + "/" + std::string(name_of(part)));
    return;
  }
  for (const std::string& name : outside.list(tree)) {
    outside.unlink(tree + "/" + name);
  }
  outside.rmdir(tree);
  if (part == Part::runtime_folder) {
    outside.rmdir(tree.substr(0, tree.rfind('/')));
  }
}

/// While a tracker is replaced, all other processes may wait. The signal can still come.
void await(Stage& stage, const std::string& signal) {
  constexpr int tries_max = 100;
  for (int tries = 0; tries < tries_max && !stage.await(signal); ++tries) {
    if (!stage.product().client().probe()) {
      return;
    }
  }
}

/// The tree has all its parts, and each of the processes counts one reference.
void check(Stage& stage, const std::string& tree, const Resource& held, std::size_t holders) {
  Product& product = stage.product();
  const auto counts = product.client().counts();
  if (!counts || !stage.is_undisturbed()) {
    return;
  }
  if (counts->size() != holders) {
    stage.refute("T6: no count is lost with a part of the tree",
                 std::to_string(counts->size()) + " holders of " + std::to_string(holders));
  }
  product.must_exist(held);
  const auto names = stage.outside().list(tree);
  if (names != std::vector<std::string>{"ledger", "lock", "socket"}) {
    stage.refute("T6: a removed part of a tree is made again",
                 std::to_string(names.size()) + " names in its folder");
  }
}

Status lead_and_hold(Stage& stage, const Resource& file) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  return product.make(file);
}

/// A process that had to leave the tree under a fault holds nothing any more.
Status release_what_exists(Stage& stage, const Resource& file) {
  Product& product = stage.product();
  const Status probed = product.client().probe();
  if (probed) {
    product.must_exist(file);
  }
  return first_failure({probed, product.release(file)});
}

Status hold_until_told(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("held.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  await(stage, "all was removed");
  return release_what_exists(stage, file);
}

std::string late_client(Part part) {
  return "client_" + std::to_string(static_cast<int>(part) + 1);
}

Status before_each_join(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("held.bin");
  LASTREF_CHECK(lead_and_hold(stage, file));
  LASTREF_TRY(tree, product.client().tree());
  for (const Part part : parts_of(stage)) {
    remove(stage, tree, part);
    LASTREF_CHECK(stage.start(late_client(part)));
    await(stage, late_client(part) + " has joined");
    check(stage, tree, file, 1);
  }
  return product.release(file);
}

Body join_late(Part part) {
  return [part](Stage& stage) -> Status {
    Product& product = stage.product();
    const Resource file = product.file("held.bin");
    Status done = product.join();
    if (done) {
      done = product.hold(file);
    }
    if (done) {
      done = product.release(file);
    }
    product.leave();
    stage.tell(late_client(part) + " has joined");
    return done;
  };
}

Status while_held(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("held.bin");
  LASTREF_CHECK(lead_and_hold(stage, file));
  LASTREF_TRY(tree, product.client().tree());
  LASTREF_CHECK(stage.start("client_a"));
  await(stage, "a holds");
  Status found = ok();
  for (const Part part : parts_of(stage)) {
    remove(stage, tree, part);
    // Starting a worker requests the tree.
    found = first_failure({found, status_of(product.client().tree())});
    check(stage, tree, file, 2);
  }
  stage.tell("all was removed");
  return first_failure({found, product.release(file)});
}

Status before_each_death(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("held.bin");
  LASTREF_CHECK(lead_and_hold(stage, file));
  LASTREF_TRY(tree, product.client().tree());
  LASTREF_CHECK(stage.start("client_a"));
  await(stage, "a holds");
  for (const Part part : parts_of(stage)) {
    remove(stage, tree, part);
    stage.kill("tracker");
    check(stage, tree, file, 2);
  }
  stage.tell("all was removed");
  return product.release(file);
}

Status stay(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("held.bin");
  LASTREF_CHECK(lead_and_hold(stage, file));
  LASTREF_TRY(tree, product.client().tree());
  LASTREF_CHECK(stage.start("client_a"));
  for (const Part part : parts_of(stage)) {
    await(stage, "removed the " + std::string(name_of(part)));
    check(stage, tree, file, 2);
    stage.tell("checked the " + std::string(name_of(part)));
  }
  return release_what_exists(stage, file);
}

Status before_each_restart(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("held.bin");
  const std::string tree = stage.arguments().empty() ? std::string() : stage.arguments().front();
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  for (const Part part : parts_of(stage)) {
    stage.stop("root");
    stage.kill("tracker");
    remove(stage, tree, part);
    stage.resume("root");
    stage.tell("removed the " + std::string(name_of(part)));
    await(stage, "checked the " + std::string(name_of(part)));
  }
  return release_what_exists(stage, file);
}

/// The root leaves without a tracker that could clean up the leftovers.
Body at_the_end(Part part) {
  return [part](Stage& stage) -> Status {
    Product& product = stage.product();
    const Resource file = product.file("leftover.bin");
    LASTREF_CHECK(lead_and_hold(stage, file));
    LASTREF_TRY(tree, product.client().tree());
    remove(stage, tree, part);
    stage.kill("tracker");
    product.leave();
    return ok();
  };
}

Scenario removed(std::string phase, std::string sentence, std::vector<Role> roles) {
  return {
      .name = "tracker/parts_are_removed_" + std::move(phase),
      .sentence =
          "An outsider removes a tree's lock, socket, ledger, folder and runtime folder, "
          "one by one, " +
          std::move(sentence),
      .rows = {"T6", "M7"},
      .roles = std::move(roles),
      .parameters = {removed_part},
      .expected_noise = {"were removed; they were made again"},
      .possible_noise = {"starting another", "lastref tracker: gave up: open"},
      .spoils_ledger = true,
  };
}

Scenario ended_without(Part part) {
  const std::string name(name_of(part));
  std::string noun = name;
  std::ranges::replace(noun, '_', ' ');
  return {
      .name = "tracker/tree_ends_without_" + name,
      .sentence = "An outsider removes the " + noun +
                  " of a tree, and its tracker is killed. Then the root leaves while it holds a "
                  "name. The name is cleaned up.",
      .rows = {"T6", "M7"},
      .roles = {{"root", at_the_end(part)}},
      .expected_noise = {"were removed"},
      .possible_noise = {"removing 1 file"},
      .spoils_ledger = true,
  };
}

const RegisteredScenario parts_are_removed_before_each_join([] {
  std::vector<Role> roles = {{"root", before_each_join}};
  for (const Part part : parts) {
    roles.push_back({late_client(part), join_late(part)});
  }
  return removed("before_each_join",
                 "each time before a process joins. It joins, and no count is lost.",
                 std::move(roles));
});

const RegisteredScenario parts_are_removed_while_held([] {
  return removed(
      "while_held",
      "while two processes hold a file. The root makes each again, and no count is lost.",
      {{"root", while_held}, {"client_a", hold_until_told}});
});

const RegisteredScenario parts_are_removed_before_each_death([] {
  return removed("before_each_death",
                 "each time before the tracker is killed. The restarted one has the same counts.",
                 {{"root", before_each_death}, {"client_a", hold_until_told}});
});

const RegisteredScenario parts_are_removed_before_each_restart([] {
  return removed("before_each_restart",
                 "each time between the tracker's death and its restart. The restarted one "
                 "has the same counts.",
                 {{"root", stay}, {"client_a", before_each_restart}});
});

const RegisteredScenario tree_ends_without_lock([] { return ended_without(Part::lock); });

const RegisteredScenario tree_ends_without_socket([] { return ended_without(Part::socket); });

const RegisteredScenario tree_ends_without_ledger([] { return ended_without(Part::ledger); });

const RegisteredScenario tree_ends_without_folder([] { return ended_without(Part::tree_folder); });

const RegisteredScenario tree_ends_without_runtime_folder([] {
  return ended_without(Part::runtime_folder);
});

}  // namespace
}  // namespace lastref::harness
