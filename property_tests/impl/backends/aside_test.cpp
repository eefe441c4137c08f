// aside_test: work that a callback postpones because it takes time, while the other listener thread
// is busy.
#include <atomic>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using pretend::until;

constexpr int told_later = 100000;  // bytes

class Late final : public Deferred {
 public:
  explicit Late(ParallelBackend& backend) : backend_(backend) {}
  void catch_up() override {
    could_ = backend_.step_aside(/*waits=*/true, *this);
    ++times;
  }
  bool could() const { return could_; }

  std::atomic<int> times = 0;

 private:
  ParallelBackend& backend_;
  std::atomic<bool> could_ = false;
};

class Aside : public testing::Test {
 protected:
  Aside() { must(backend->configure(fixture.options(2))); }
  ~Aside() override { EXPECT_TRUE(backend->terminate()); }

  /// Sends a task that waits for the mark of its name. The mark may be made before.
  FuturePtr send(const std::string& name, std::vector<Value> rest, std::function<void()> then) {
    std::vector<Value> arguments = {fixture.mark(name)};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return must_be(
        backend->apply_brief({{"wait_for", arguments}}, [then](BatchOutcome&) { then(); }));
  }

  Fixture fixture;
  std::shared_ptr<ParallelBackend> backend = fixture.make(BackendKind::processes);
  std::shared_ptr<Late> late = std::make_shared<Late>(*backend);
  std::atomic<bool> has_tried = false;
  std::atomic<bool> could = true;
};

TEST_F(Aside, who_is_kept_by_who_stepped_aside_catches_up_E13) {
  const auto first_one = std::make_shared<Late>(*backend);
  const auto first = send("first", {}, [&] {
    EXPECT_TRUE(backend->step_aside(/*waits=*/true, *first_one));
    fixture.make_mark("second");
    until([&] { return has_tried.load(); });
  });
  const auto second = send("second", {}, [&] {
    could = backend->step_aside(/*waits=*/true, *late);
    has_tried = true;
  });
  fixture.make_mark("first");
  until([&] { return late->times > 0; });
  EXPECT_FALSE(could);
  EXPECT_TRUE(late->could());
  EXPECT_TRUE(first->get() && second->get());
  EXPECT_EQ(late->times, 1);
  EXPECT_EQ(first_one->times, 0);
}

TEST_F(Aside, who_is_kept_by_who_tells_catches_up_E13) {
  const auto first = send("first", {ByteString(told_later, std::byte{7})}, [&] {
    fixture.make_mark("second");
    until([&] { return has_tried.load(); });
  });
  const auto second = send("second", {}, [&] {
    // Twice, as two callbacks of one call may do it.
    could = backend->step_aside(/*waits=*/true, *late) || backend->step_aside(true, *late);
    has_tried = true;
  });
  fixture.make_mark("first");
  until([&] { return late->times > 0; });
  EXPECT_FALSE(could);
  EXPECT_TRUE(late->could());
  EXPECT_TRUE(first->get() && second->get());
  EXPECT_EQ(late->times, 1);
}

/// The postponed work of a call that has returned is not run.
TEST_F(Aside, who_has_gone_does_not_catch_up_E13) {
  const auto first = send("first", {}, [&] {
    EXPECT_TRUE(backend->step_aside(/*waits=*/true, *late));
    fixture.make_mark("second");
    until([&] { return has_tried.load(); });
  });
  const auto second = send("second", {}, [&] {
    auto gone = std::make_shared<Late>(*backend);
    could = backend->step_aside(/*waits=*/true, *gone) || backend->step_aside(true, *late);
    gone.reset();
    has_tried = true;
  });
  fixture.make_mark("first");
  until([&] { return late->times > 0; });
  EXPECT_FALSE(could);
  EXPECT_TRUE(first->get() && second->get());
}

}  // namespace
}  // namespace lastref
