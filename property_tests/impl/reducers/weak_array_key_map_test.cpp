// weak_array_key_map_test: values are removed with their array, whatever memory it has.
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rapidcheck/state.h>

#include <lastref/kernel_os.hpp>
#include <lastref/weak_array_key_map.hpp>

#include "property_tests/support/array_model.hpp"

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::must;

constexpr std::size_t slots = 4;

/// The array of each handle, and the value of each array. Numbers from 1; 0 is none.
struct Expected {
  std::array<int, slots> handles{};
  std::map<int, int> values;
  int arrays = 0;
  int made = 0;

  /// Values are removed with the last handle.
  void put(std::size_t slot, int array) {
    handles.at(slot) = array;
    std::erase_if(values, [&](const auto& each) {
      return std::ranges::find(handles, each.first) == handles.end();
    });
  }
};

struct Subject {
  os::KernelOs os;
  WeakArrayKeyMap<std::shared_ptr<int>> map{os};
  std::array<std::optional<Array>, slots> handles;
  std::map<int, std::weak_ptr<int>> values;
  std::array<std::byte, 64> recycled{};

  Array borrowed() {
    return must(Array::over(Memory::wrap(os::Buffer(recycled), nullptr),
                            {.dtype = dtype_of("<f8"), .shape = {8}}));
  }
};

struct Command : rc::state::Command<Expected, Subject> {
  virtual void act(Subject& subject, const Expected& after) const = 0;

  void run(const Expected& before, Subject& subject) const final {
    Expected after = before;
    apply(after);
    act(subject, after);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (!subject.handles.at(slot)) {
        continue;
      }
      const auto found = subject.map.get(*subject.handles.at(slot));
      const auto expected = after.values.find(after.handles.at(slot));
      RC_ASSERT(found.has_value() == (expected != after.values.end()));
      if (found) {
        RC_ASSERT(**found == expected->second);
      }
    }
    RC_ASSERT(subject.map.size() == after.values.size());
    std::set<int> alive;
    for (const auto& [array, value] : after.values) {
      alive.insert(value);
    }
    for (const auto& [number, value] : subject.values) {
      RC_ASSERT(value.expired() == !alive.contains(number));
      RC_ASSERT(value.use_count() <= 1);
    }
  }
};

struct Make final : Command {
  std::size_t slot = *rc::gen::inRange<std::size_t>(0, slots);
  bool borrows = *rc::gen::arbitrary<bool>();

  void apply(Expected& model) const override { model.put(slot, ++model.arrays); }
  void act(Subject& subject, const Expected&) const override {
    // The old one is destroyed first, so that the new one may have its addresses.
    subject.handles.at(slot).reset();
    subject.handles.at(slot) =
        borrows ? subject.borrowed() : must(Array::zeros(dtype_of("<f8"), {8}));
  }
  void show(std::ostream& out) const override {
    out << (borrows ? "Borrow(" : "Make(") << slot << ')';
  }
};

struct CopyHandle final : Command {
  std::size_t from = *rc::gen::inRange<std::size_t>(0, slots);
  std::size_t to = *rc::gen::inRange<std::size_t>(0, slots);

  void apply(Expected& model) const override { model.put(to, model.handles.at(from)); }
  void act(Subject& subject, const Expected&) const override {
    subject.handles.at(to) = std::optional(subject.handles.at(from));
  }
  void show(std::ostream& out) const override { out << "Copy(" << from << ", " << to << ')'; }
};

struct Drop final : Command {
  std::size_t slot = *rc::gen::inRange<std::size_t>(0, slots);

  void apply(Expected& model) const override { model.put(slot, 0); }
  void act(Subject& subject, const Expected&) const override { subject.handles.at(slot).reset(); }
  void show(std::ostream& out) const override { out << "Drop(" << slot << ')'; }
};

struct Set final : Command {
  std::size_t slot = *rc::gen::inRange<std::size_t>(0, slots);

  void checkPreconditions(const Expected& model) const override {
    RC_PRE(model.handles.at(slot) != 0);
  }
  void apply(Expected& model) const override {
    model.values[model.handles.at(slot)] = ++model.made;
  }
  void act(Subject& subject, const Expected& after) const override {
    auto value = std::make_shared<int>(after.made);
    subject.values[after.made] = value;
    must(subject.map.set(*subject.handles.at(slot), std::move(value)));
  }
  void show(std::ostream& out) const override { out << "Set(" << slot << ')'; }
};

struct Take final : Command {
  std::size_t slot = *rc::gen::inRange<std::size_t>(0, slots);

  void checkPreconditions(const Expected& model) const override {
    RC_PRE(model.handles.at(slot) != 0);
  }
  void apply(Expected& model) const override { model.values.erase(model.handles.at(slot)); }
  void act(Subject& subject, const Expected&) const override {
    static_cast<void>(subject.map.take(*subject.handles.at(slot)));
  }
  void show(std::ostream& out) const override { out << "Take(" << slot << ')'; }
};

RC_GTEST_PROP(WeakArrayKeyMap, does_what_a_map_of_live_arrays_does_R1, ()) {
  Subject subject;
  rc::state::check(Expected{},
                   subject,
                   rc::state::gen::execOneOfWithArgs<Make, CopyHandle, Drop, Set, Set, Take>());
}

TEST(WeakArrayKeyMapOnce, an_equal_array_at_the_same_address_has_nothing_R1) {
  Subject subject;
  auto first = std::optional(subject.borrowed());
  const std::byte* const data = first->data();
  must(subject.map.set(*first, std::make_shared<int>(1)));
  const Array second = subject.borrowed();
  EXPECT_EQ(second.data(), data);
  EXPECT_TRUE(contents_equal(*first, second));
  EXPECT_EQ(subject.map.get(second), std::nullopt);
  first.reset();
  EXPECT_EQ(subject.map.get(second), std::nullopt);
  EXPECT_EQ(subject.map.get(subject.borrowed()), std::nullopt);
}

TEST(WeakArrayKeyMapOnce, a_view_is_another_array_and_keeps_its_base_R1) {
  Subject subject;
  auto array = std::optional(must(Array::zeros(dtype_of("<f8"), {8})));
  must(subject.map.set(*array, std::make_shared<int>(1)));
  auto view = std::optional(must(array->transpose()));
  EXPECT_EQ(subject.map.get(*view), std::nullopt);
  array.reset();
  EXPECT_EQ(**subject.map.get(*view->base()), 1);
  view.reset();
  EXPECT_EQ(subject.map.size(), 0U);
}

TEST(WeakArrayKeyMapOnce, goes_before_its_arrays_and_takes_its_values_along_R1) {
  os::KernelOs os;
  const Array array = must(Array::zeros(dtype_of("<f8"), {8}));
  std::weak_ptr<int> value;
  {
    WeakArrayKeyMap<std::shared_ptr<int>> map(os);
    auto kept = std::make_shared<int>(1);
    value = kept;
    must(map.set(array, std::move(kept)));
  }
  EXPECT_TRUE(value.expired());
  WeakArrayKeyMap<std::shared_ptr<int>> other(os);
  EXPECT_EQ(other.get(array), std::nullopt);
  must(other.set(array, std::make_shared<int>(2)));
  EXPECT_EQ(**other.get(array), 2);
}

TEST(WeakArrayKeyMapOnce, lets_other_threads_drop_arrays_R1) {
  Subject subject;
  constexpr int rounds = 200;
  std::vector<std::unique_ptr<os::Thread>> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.push_back(must(subject.os.start_thread([&] {
      for (int round = 0; round < rounds; ++round) {
        const Array array = subject.borrowed();
        must(subject.map.set(array, std::make_shared<int>(round)));
        if (**subject.map.get(array) != round) {
          ADD_FAILURE() << "another array's value";
        }
      }
    })));
  }
  for (const auto& thread : threads) {
    thread->join();
  }
  EXPECT_EQ(subject.map.size(), 0U);
  auto array = std::optional(subject.borrowed());
  must(subject.map.set(*array, std::make_shared<int>(1)));
  must(subject.os.start_thread([gone = std::exchange(array, std::nullopt)]() mutable {
    gone.reset();
  }))->join();
  EXPECT_EQ(subject.map.size(), 0U);
}

TEST(WeakArrayKeyMapOnce, a_value_may_use_the_map_as_it_goes_R1) {
  Subject subject;
  auto array = std::optional(must(Array::zeros(dtype_of("<f8"), {8})));
  std::size_t seen = 99;
  std::shared_ptr<int> kept(new int(1), [&](const int* number) {
    seen = subject.map.size();
    delete number;
  });
  must(subject.map.set(*array, std::move(kept)));
  array.reset();
  EXPECT_EQ(seen, 0U);
}

TEST(WeakArrayKeyMapOnce, cannot_be_sent_R1) {
  os::KernelOs os;
  const WeakArrayKeyMap<int> map(os);
  const Status encoded = encode(map);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, std::errc::not_supported);
}

}  // namespace
}  // namespace lastref
