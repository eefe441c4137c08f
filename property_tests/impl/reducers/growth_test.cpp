// growth_test: after many thousand arrays, files and calls a process is as large as after one.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/reducers.hpp>

#include "property_tests/impl/reducers/unlinking_references.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace {

/// The number of allocations that were not freed. Elements of arrays, which are aligned, are not
/// counted.
std::atomic<std::ptrdiff_t> live = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* const given = std::malloc(size);
  if (given == nullptr) {
    throw std::bad_alloc();
  }
  ++live;
  return given;
}
void operator delete(void* given) noexcept {
  live -= given == nullptr ? 0 : 1;
  std::free(given);
}
void operator delete(void* given, std::size_t) noexcept {
  operator delete(given);
}

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::must;
using pretend::UnlinkingReferences;
using testing::IsEmpty;

/// How many more allocations a container may have for the same contents.
constexpr std::ptrdiff_t slack = 100;
/// If one allocation is left each time, that is far more than the slack by then.
constexpr int without_files = 100'000;
constexpr int with_files = 6'000;

struct Size {
  std::ptrdiff_t things = 0;  // on the heap
  std::ptrdiff_t descriptors = 0;
  std::size_t counted = 0;
};

class Growth : public testing::Test {
 protected:
  Growth() {
    resources_ = must(TemporaryResources::make(os_, references_, {.root = folder_.path()}));
    forward_ = reducer();
  }

  std::unique_ptr<ForwardReducer> reducer() {
    return std::make_unique<ForwardReducer>(
        os_, references_, resources_, ForwardOptions{.max_nbytes = 100});
  }
  static Array large() { return must(Array::zeros(dtype_of("|u1"), {200})); }
  /// Sends it to this process, and reports its arrival.
  void send(const Array& array) {
    Sent sent = must(forward_->reduce(array));
    const Array arrived =
        must(receiver_.rebuild(must(decode_reduction(must(encode_reduction(sent.reduction))))));
    ASSERT_TRUE(sent.arrived());
  }
  Size size() const {
    const std::filesystem::directory_iterator descriptors("/proc/self/fd");
    return {.things = live,
            .descriptors = std::distance(begin(descriptors), end(descriptors)),
            .counted = references_->size()};
  }
  /// Compares the size after a thousand times and after many times.
  void expect_none(int times, const std::function<void(int)>& deed) {
    int done = 0;
    for (; done < 1000; ++done) {
      deed(done);
    }
    const Size before = size();
    for (; done < times; ++done) {
      deed(done);
    }
    const Size after = size();
    EXPECT_LE(after.things, before.things + slack) << "after " << times - 1000 << " times more";
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_EQ(after.counted, before.counted);
  }

  pretend::FreshFolder folder_;
  os::KernelOs os_;
  std::shared_ptr<UnlinkingReferences> references_ = std::make_shared<UnlinkingReferences>(os_);
  std::shared_ptr<TemporaryResources> resources_;
  std::unique_ptr<ForwardReducer> forward_;
  Receiver receiver_{os_, references_};
};

TEST_F(Growth, has_none_with_the_arrays_that_were_sent_and_have_gone_E12) {
  expect_none(with_files, [&](int) {
    send(large());
    ASSERT_TRUE(forward_->release_gone());
  });
  EXPECT_EQ(folder_.names().size(), 1U);  // The folder.
}

TEST_F(Growth, has_none_with_the_times_that_an_array_is_sent_again_E12) {
  const Array array = large();
  expect_none(without_files, [&](int) { send(array); });
}

TEST_F(Growth, has_none_with_the_calls_that_an_array_is_sent_in_E12) {
  const Array array = large();
  expect_none(with_files, [&](int call) {
    const std::string context = "call" + std::to_string(call);
    ASSERT_TRUE(resources_->set_current_context(context));
    send(array);
    ASSERT_TRUE(resources_->clean_up(context));
    ASSERT_TRUE(forward_->release_gone());
  });
  EXPECT_THAT(folder_.names(), IsEmpty());
}

/// Keeps its folders until they may be removed.
class LateReferences final : public References {
 public:
  explicit LateReferences(os::Os& os) : inner_(os) {}

  using References::register_name;
  Status register_name(const Resource& name, const std::optional<Identity>& identity) override {
    return inner_.register_name(name, identity);
  }
  Status hold(const Resource& name) override { return inner_.hold(name); }
  Status release(const Resource& name) override {
    if (name.type == ResourceType::folder && is_late) {
      late_.push_back(name);
      return ok();
    }
    return inner_.release(name);
  }
  Status forget(const Resource& name) override { return inner_.forget(name); }
  bool is_attributed() const noexcept override { return true; }

  void go_on() {
    is_late = false;
    for (const Resource& name : std::exchange(late_, {})) {
      must(inner_.release(name));
    }
  }

  bool is_late = true;

 private:
  UnlinkingReferences inner_;
  std::vector<Resource> late_;
};

TEST_F(Growth, has_none_with_the_folders_that_a_slow_tracker_had_left_E12) {
  const auto late = std::make_shared<LateReferences>(os_);
  const std::shared_ptr<TemporaryResources> resources =
      must(TemporaryResources::make(os_, late, {.root = folder_.path()}));
  int calls = 0;
  const auto call = [&](int times) {
    for (; times > 0; --times) {
      const std::string context = "call" + std::to_string(++calls);
      ASSERT_TRUE(resources->set_current_context(context));
      ASSERT_TRUE(resources->publish([](os::Fd) { return ok(); }));
      ASSERT_TRUE(resources->clean_up(context));
    }
  };
  constexpr int few = 200;
  constexpr int many = 2000;
  late->is_late = false;
  call(few);
  const std::ptrdiff_t before = live;
  late->is_late = true;
  call(many);
  late->go_on();
  call(many + few);
  EXPECT_LE(live, before + slack);
}

TEST_F(Growth, has_none_with_the_times_that_an_array_is_invalidated_E12) {
  const Array array = large();
  expect_none(with_files, [&](int) {
    send(array);
    ASSERT_TRUE(forward_->invalidate(array));
    ASSERT_TRUE(forward_->release_gone());
  });
}

TEST_F(Growth, has_none_with_invalidations_if_nobody_asks_for_arrays_that_have_gone_E12) {
  const Array array = large();
  expect_none(with_files, [&](int) {
    send(array);
    ASSERT_TRUE(forward_->invalidate(array));
  });
}

TEST_F(Growth, has_none_with_files_that_others_have_removed_E12) {
  const Array array = large();
  expect_none(with_files, [&](int) {
    send(array);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) {
        std::filesystem::remove(entry.path());
      }
    }
  });
}

TEST_F(Growth, has_none_with_the_reducers_that_an_array_outlives_E12) {
  const Array array = large();
  expect_none(with_files, [&](int) {
    send(array);
    ASSERT_TRUE(forward_->invalidate(array));
    forward_ = reducer();
  });
}

TEST_F(Growth, has_none_with_the_managers_that_come_and_go_E12) {
  const Array array = large();
  expect_none(with_files, [&](int) {
    send(array);
    resources_ = must(TemporaryResources::make(os_, references_, {.root = folder_.path()}));
    forward_ = reducer();
  });
}

}  // namespace
}  // namespace lastref
