// registry_test: the registry against a model that keeps one number for each name and holder, and
// the moment at which the last holder released a name.
#include "impl/tracker/registry.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rapidcheck/state.h>

#include "property_tests/impl/tracker/generators.hpp"

namespace lastref::tracker {
namespace {

struct Life {
  std::map<MemberId, std::uint64_t> holders;
  int left_at = 0;  ///< Of the clock; valid only while the name has no holder.
};

struct Model {
  std::map<std::string, Life> names;
  std::vector<int> stamps;
  int clock = 0;
};

/// The registry, and the stamps that it returned.
struct Subject {
  Registry registry;
  std::vector<Registry::Stamp> stamps;
};

using Command = rc::state::Command<Model, Subject>;

/// In the order of their clean-up.
const std::vector<std::string> names = {"a", "d/d/f", "d/f", "d/d", "d"};

Resource resource_of(const std::string& name) {
  return {.type = name.ends_with('d') ? ResourceType::folder : ResourceType::file, .name = name};
}

std::string any_name() {
  return *rc::gen::elementOf(names);
}
MemberId any_member() {
  return *rc::gen::inRange<MemberId>(no_member, 4);
}

std::uint64_t total(const Life& life) {
  std::uint64_t sum = 0;
  for (const auto& [member, count] : life.holders) {
    sum += count;
  }
  return sum;
}

std::vector<Holding> holdings_of(const Model& model) {
  std::vector<Holding> all;
  for (const auto& [name, life] : model.names) {
    for (const auto& [member, count] : life.holders) {
      all.push_back({.resource = resource_of(name), .holder = member, .count = count});
    }
  }
  std::ranges::sort(all);
  return all;
}

bool lies_in(const std::string& inner, const std::string& outer) {
  return inner.starts_with(outer + "/");
}

/// Names without a holder since before `moment`: files by name, then folders, the deeper one first.
std::vector<Resource> doomed_of(const Model& model, int moment) {
  std::vector<Resource> doomed;
  for (const std::string& name : names) {
    const auto found = model.names.find(name);
    if (found != model.names.end() && found->second.holders.empty() &&
        found->second.left_at < moment) {
      doomed.push_back(resource_of(name));
    }
  }
  return doomed;
}

/// Those of them that can be removed: a folder waits for every name in it.
std::vector<Resource> due_of(Model model, int moment) {
  std::vector<Resource> due;
  for (const Resource& resource : doomed_of(model, moment)) {
    const bool is_occupied = std::ranges::any_of(
        model.names, [&](const auto& item) { return lies_in(item.first, resource.name); });
    if (!is_occupied) {
      due.push_back(resource);
      model.names.erase(resource.name);
    }
  }
  return due;
}

void agree(const Model& after, const Registry& registry) {
  RC_ASSERT(registry.holdings() == holdings_of(after));
  const std::vector<Resource> doomed = doomed_of(after, after.clock + 1);
  RC_ASSERT(registry.doomed() == doomed);
  if (!due_of(after, after.clock + 1).empty()) {
    RC_ASSERT(registry.has_doomed());
  }
  if (doomed.empty()) {
    RC_ASSERT(!registry.has_doomed());
  }
  RC_ASSERT(registry.empty() == after.names.empty());
  for (const std::string& name : names) {
    const auto found = after.names.find(name);
    const bool known = found != after.names.end();
    RC_ASSERT(registry.knows(resource_of(name)) == known);
    RC_ASSERT(registry.count_of(resource_of(name)) == (known ? total(found->second) : 0));
  }
}

struct Add final : Command {
  std::string name = any_name();
  MemberId member = any_member();
  std::uint64_t count = *rc::gen::inRange<std::uint64_t>(1, 4);

  void apply(Model& model) const override {
    ++model.clock;
    model.names[name].holders[member] += count;
  }
  void run(const Model& before, Subject& subject) const override {
    subject.registry.add(member, resource_of(name), count);
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override {
    out << "Add(" << name << ", by " << member << ", " << count << ")";
  }
};

struct Adopt final : Command {
  std::string name = any_name();

  void apply(Model& model) const override {
    ++model.clock;
    model.names.try_emplace(name, Life{.holders = {}, .left_at = model.clock});
  }
  void run(const Model& before, Subject& subject) const override {
    subject.registry.adopt(resource_of(name));
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override { out << "Adopt(" << name << ")"; }
};

struct Release final : Command {
  std::string name = any_name();
  MemberId member = any_member();
  std::uint64_t count =
      *rc::gen::weightedElement<std::uint64_t>({{5, 1}, {2, 2}, {1, 0xffff'ffff'ffff'ffffU}});

  Released expected(const Model& before) const {
    const auto known = before.names.find(name);
    if (known == before.names.end()) {
      return Released::unknown;
    }
    const auto held = known->second.holders.find(member);
    if (held == known->second.holders.end() || held->second < count) {
      return Released::not_held;
    }
    return total(known->second) == count ? Released::last : Released::still_held;
  }
  void apply(Model& model) const override {
    ++model.clock;
    const auto known = model.names.find(name);
    if (known == model.names.end() || !known->second.holders.contains(member)) {
      return;
    }
    Life& life = known->second;
    life.holders[member] -= std::min(count, life.holders[member]);
    if (life.holders[member] == 0) {
      life.holders.erase(member);
    }
    if (life.holders.empty()) {
      life.left_at = model.clock;
    }
  }
  void run(const Model& before, Subject& subject) const override {
    RC_ASSERT(subject.registry.release(member, resource_of(name), count) == expected(before));
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override {
    out << "Release(" << name << ", by " << member << ", " << count << ")";
  }
};

struct Forget final : Command {
  std::string name = any_name();

  void apply(Model& model) const override {
    ++model.clock;
    model.names.erase(name);
  }
  void run(const Model& before, Subject& subject) const override {
    RC_ASSERT(subject.registry.forget(resource_of(name)) == before.names.contains(name));
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override { out << "Forget(" << name << ")"; }
};

struct Drop final : Command {
  MemberId member = any_member();

  void apply(Model& model) const override {
    ++model.clock;
    for (auto& [name, life] : model.names) {
      if (life.holders.erase(member) > 0 && life.holders.empty()) {
        life.left_at = model.clock;
      }
    }
  }
  void run(const Model& before, Subject& subject) const override {
    std::vector<Resource> abandoned;
    for (const auto& [name, life] : before.names) {
      if (life.holders.size() == 1 && life.holders.contains(member)) {
        abandoned.push_back(resource_of(name));
      }
    }
    std::vector<Resource> dropped = subject.registry.drop(member);
    std::ranges::sort(abandoned);
    std::ranges::sort(dropped);
    RC_ASSERT(dropped == abandoned);
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override { out << "Drop(" << member << ")"; }
};

struct Stamp final : Command {
  void apply(Model& model) const override { model.stamps.push_back(++model.clock); }
  void run(const Model& before, Subject& subject) const override {
    subject.stamps.push_back(subject.registry.now());
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override { out << "Stamp()"; }
};

/// With any stamp that the registry returned, however old.
struct TakeDoomed final : Command {
  explicit TakeDoomed(const Model& before) {
    RC_PRE(!before.stamps.empty());
    stamp = *rc::gen::inRange<std::size_t>(0, before.stamps.size());
  }
  std::size_t stamp = 0;

  void checkPreconditions(const Model& before) const override {
    RC_PRE(stamp < before.stamps.size());
  }
  void apply(Model& model) const override {
    ++model.clock;
    for (const Resource& taken : due_of(model, model.stamps[stamp])) {
      model.names.erase(taken.name);
    }
  }
  void run(const Model& before, Subject& subject) const override {
    const auto taken = subject.registry.take_doomed(subject.stamps[stamp]);
    RC_ASSERT(taken == due_of(before, before.stamps[stamp]));
    agree(nextState(before), subject.registry);
  }
  void show(std::ostream& out) const override { out << "TakeDoomed(stamp " << stamp << ")"; }
};

RC_GTEST_PROP(RegistryProperties, any_history_leaves_the_counts_of_the_model_T3_T9, ()) {
  Subject subject;
  rc::state::check(
      Model{},
      subject,
      rc::state::gen::
          execOneOfWithArgs<Add, Adopt, Release, Release, Forget, Drop, Stamp, TakeDoomed>());
}

RC_GTEST_PROP(RegistryProperties,
              a_resource_is_doomed_exactly_when_its_last_holder_releases_it_T3,
              ()) {
  Registry registry;
  const Resource resource = resource_of("a");
  std::vector<MemberId> holders =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<MemberId>>(rc::gen::inRange(1U, 5U)));
  for (const MemberId holder : holders) {
    registry.add(holder, resource);
  }
  while (!holders.empty()) {
    RC_ASSERT(registry.doomed().empty());
    const auto next = *rc::gen::inRange<std::size_t>(0, holders.size());
    const bool is_last = holders.size() == 1;
    RC_ASSERT(registry.release(holders[next], resource) ==
              (is_last ? Released::last : Released::still_held));
    holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(next));
  }
  RC_ASSERT(registry.doomed() == std::vector{resource});
  RC_ASSERT(registry.release(1, resource) == Released::not_held);
}

RC_GTEST_PROP(RegistryProperties,
              a_name_is_taken_only_when_it_was_doomed_without_a_break_since_before_the_stamp_T9,
              (bool revived)) {
  Registry registry;
  const Resource resource = resource_of("a");
  registry.adopt(resource);
  const Registry::Stamp stamp = registry.now();
  if (revived) {
    registry.add(1, resource);
    RC_ASSERT(registry.release(1, resource) == Released::last);
  }
  RC_ASSERT(registry.take_doomed(stamp).empty() == revived);
  RC_ASSERT(registry.take_doomed(registry.now()).empty() == !revived);
  RC_ASSERT(registry.empty());
}

TEST(RegistryWaiting, a_folder_waits_in_peace_for_what_others_hold_in_it_T5_T10) {
  Registry registry;
  const Resource folder = resource_of("d");
  const Resource file = resource_of("d/f");
  registry.add(1, folder);
  registry.add(2, file);
  EXPECT_EQ(registry.release(1, folder), Released::last);
  EXPECT_TRUE(registry.take_doomed(registry.now()).empty());
  EXPECT_FALSE(registry.has_doomed());  // So the tracker does not check again and again.
  EXPECT_EQ(registry.release(2, file), Released::last);
  EXPECT_TRUE(registry.has_doomed());
  EXPECT_EQ(registry.take_doomed(registry.now()), (std::vector{file, folder}));
}

TEST(RegistryWaiting, the_root_of_all_folders_waits_for_everything_T5) {
  Registry registry;
  const Resource all = {.type = ResourceType::folder, .name = "//"};
  const Resource file = {.type = ResourceType::file, .name = "/d/f"};
  registry.add(1, all);
  registry.add(2, file);
  EXPECT_EQ(registry.release(1, all), Released::last);
  EXPECT_TRUE(registry.take_doomed(registry.now()).empty());
  EXPECT_EQ(registry.release(2, file), Released::last);
  EXPECT_EQ(registry.take_doomed(registry.now()), (std::vector{file, all}));
}

RC_GTEST_PROP(RegistryProperties,
              what_goes_a_few_at_a_time_goes_in_the_end_and_folders_behind_what_is_in_them_T10_T5,
              ()) {
  const auto most = *rc::gen::inRange<std::size_t>(1, 4);
  const auto part = rc::gen::element<std::string>("a", "b", "c");
  Registry registry;
  std::set<Resource> all;
  for (const auto& [outer, inner, is_folder] :
       *rc::gen::container<std::vector<std::tuple<std::string, std::string, bool>>>(
           rc::gen::tuple(part, part, rc::gen::arbitrary<bool>()))) {
    const auto type = is_folder ? ResourceType::folder : ResourceType::file;
    for (const Resource& resource : {Resource{.type = ResourceType::folder, .name = outer},
                                     Resource{.type = type, .name = outer + "/" + inner}}) {
      registry.add(1, resource);
      all.insert(resource);
    }
  }
  std::size_t dropped = 0;
  while (registry.holds_anything(1)) {
    const std::size_t some = registry.drop(1, most).size();
    RC_ASSERT(some <= most);
    dropped += some;
  }
  RC_ASSERT(dropped == all.size());
  std::vector<Resource> taken;
  while (registry.has_doomed()) {
    const auto some = registry.take_doomed(registry.now(), most);
    RC_ASSERT(some.size() <= most);
    taken.insert(taken.end(), some.begin(), some.end());
  }
  RC_ASSERT(registry.empty());
  RC_ASSERT(std::set<Resource>(taken.begin(), taken.end()) == all);
  for (std::size_t first = 0; first < taken.size(); ++first) {
    for (std::size_t then = first + 1; then < taken.size(); ++then) {
      RC_ASSERT(!lies_in(taken[then].name, taken[first].name));
    }
  }
}

TEST(RegistryCounts, of_who_holds_nothing_or_something_else_are_0_T3) {
  Registry registry;
  registry.add(1, resource_of("f"));
  EXPECT_EQ(registry.count_of(1, resource_of("f")), 1U);
  EXPECT_EQ(registry.count_of(2, resource_of("f")), 0U);
  EXPECT_EQ(registry.count_of(1, resource_of("g")), 0U);
}

TEST(RegistryWaiting, all_that_is_doomed_goes_at_the_end_whatever_lies_in_it_T5) {
  Registry registry;
  const Resource folder = resource_of("d");
  registry.adopt(folder);
  registry.add(1, resource_of("d/f"));
  EXPECT_EQ(registry.take_all_doomed(), std::vector{folder});
  EXPECT_FALSE(registry.has_doomed());
  EXPECT_EQ(registry.count_of(1, resource_of("d/f")), 1U);
}

RC_GTEST_PROP(RegistryProperties, clean_up_takes_folders_last_and_what_lies_deeper_first_T5, ()) {
  const auto part = rc::gen::element<std::string>("/a", "/b", "/a-", "/a.b", "/\xff");
  const auto path = rc::gen::map(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(part)),
      [](const std::vector<std::string>& parts) {
        std::string name;
        for (std::size_t index = 0; index < std::min<std::size_t>(parts.size(), 4); ++index) {
          name += parts[index];
        }
        return name;
      });
  const auto resources = *rc::gen::container<std::set<Resource>>(rc::gen::build<Resource>(
      rc::gen::set(&Resource::type,
                   rc::gen::weightedElement<ResourceType>({{4, ResourceType::folder},
                                                           {1, ResourceType::file},
                                                           {1, ResourceType::shm},
                                                           {1, ResourceType::noop}})),
      rc::gen::set(&Resource::name, path)));
  std::vector<Resource> ordered(resources.begin(), resources.end());
  if (*rc::gen::arbitrary<bool>()) {
    std::ranges::reverse(ordered);
  }
  order_for_cleanup(ordered);
  RC_ASSERT(std::set<Resource>(ordered.begin(), ordered.end()) == resources);
  for (std::size_t first = 0; first < ordered.size(); ++first) {
    for (std::size_t then = first + 1; then < ordered.size(); ++then) {
      const bool folder_first = ordered[first].type == ResourceType::folder;
      RC_ASSERT(!folder_first || ordered[then].type == ResourceType::folder);
      RC_ASSERT(!folder_first || !lies_in(ordered[then].name, ordered[first].name));
    }
  }
}

}  // namespace
}  // namespace lastref::tracker
