#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include <lastref/npy.hpp>
#include <lastref/temporary_resources.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// An object that is destroyed while a thread is in a call of it.
struct Ending {
  std::string name;
  std::atomic<bool> is_destroyed = false;
  std::atomic<bool> has_continued = false;  ///< The thread continued, in the call.
  std::atomic<bool> has_returned = false;   ///< The call returned, as its caller sees it slightly
                                            ///< later.
  Status result = ok();                     ///< The result of the call.
};

/// The thread is in the call, and continues when the object is to be destroyed, but not after its
/// destruction.
void linger(Stage& stage, Ending& ending) {
  stage.tell("a thread is in " + ending.name);
  stage.await(ending.name + " is to end");
  while (ending.is_destroyed) {
    stage.stay_until_killed();
  }
  ending.has_continued = true;
}

/// The references of a Stage, for a cache: a thread is in a call of the cache when the cache calls
/// these references of the user.
class LingeringReferences final : public References {
 public:
  LingeringReferences(Stage& stage, std::shared_ptr<Ending> ending)
      : stage_(stage), ending_(std::move(ending)), all_(references_of(stage)) {}

  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>& identity) override {
    meet();
    return all_->register_name(resource, identity);
  }
  Status identify(const Resource& resource, const std::optional<Identity>& identity) override {
    return all_->identify(resource, identity);
  }
  Status hold(const Resource& resource) override { return all_->hold(resource); }
  Status release(const Resource& resource) override {
    meet();
    return all_->release(resource);
  }
  Status forget(const Resource& resource) override { return all_->forget(resource); }
  bool is_attributed() const noexcept override { return true; }

  /// The next call lingers, once.
  void be_met() noexcept { is_met_ = true; }

 private:
  void meet() {
    if (std::exchange(is_met_, false)) {
      linger(stage_, *ending_);
    }
  }

  Stage& stage_;
  std::shared_ptr<Ending> ending_;
  std::shared_ptr<References> all_;
  bool is_met_ = false;
};

/// Destroys an object while a thread is in `call` of it.
Status destroy_under(Stage& stage,
                     const std::shared_ptr<Ending>& ending,
                     const std::function<Status()>& call,
                     const std::function<void()>& destroy) {
  LASTREF_TRY(thread, stage.os().start_thread([=, &stage] {
    ending->result = stage.product().operation("use", call);
    ending->has_returned = true;
    stage.tell("a thread is in " + ending->name);  // Sent whatever happened, because another thread
                                                   // waits.
  }));
  stage.await("a thread is in " + ending->name);
  stage.tell(ending->name + " is to end");
  may_fail(stage.product().operation("destroy", [&] {
    destroy();
    ending->is_destroyed = true;
    return ok();
  }));
  if (!ending->has_continued && !ending->has_returned) {
    stage.refute("E9: a destructor waits for running calls",
                 "a thread is still in " + ending->name);
    static_cast<void>(thread.release());  // It never ends.
    return failure(std::errc::state_not_recoverable, ending->name);
  }
  thread->join();
  return ending->result;
}

using Use = std::function<Status(MultiprocessFileCache&)>;

Status destroy_a_cache_under(Stage& stage, const std::string& name, const Use& use) {
  const auto ending = std::make_shared<Ending>();
  ending->name = name;
  const auto references = std::make_shared<LingeringReferences>(stage, ending);
  std::unique_ptr<MultiprocessFileCache> cache;
  LASTREF_CHECK(stage.product().operation("make a cache", [&]() -> Status {
    LASTREF_TRY(made, MultiprocessFileCache::make(stage.os(), references, 1, cache_options(stage)));
    cache = std::move(made);
    return ok();
  }));
  references->be_met();
  return destroy_under(
      stage, ending, [use, used = cache.get()] { return use(*used); }, [&] { cache.reset(); });
}

Status destroy_a_manager(Stage& stage) {
  const auto ending = std::make_shared<Ending>();
  ending->name = "a dump";
  std::unique_ptr<TemporaryResources> resources;
  LASTREF_CHECK(stage.product().operation("make a manager", [&]() -> Status {
    LASTREF_TRY(made,
                TemporaryResources::make(
                    stage.os(), references_of(stage), {.root = stage.folder(), .context = "call"}));
    resources = std::move(made);
    return ok();
  }));
  const auto publish = [&stage, ending, used = resources.get()] {
    return status_of(used->publish([&](os::Fd file) {
      linger(stage, *ending);
      return write_npy(stage.os(), file, numbered());
    }));
  };
  return destroy_under(stage, ending, publish, [&] { resources.reset(); });
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  const Status dumped = destroy_a_manager(stage);
  const Status preserved = destroy_a_cache_under(
      stage, "a preserve", [](auto& cache) { return status_of(cache.preserve("kept", true)); });
  const Status closed =
      destroy_a_cache_under(stage, "a close", [](auto& cache) { return cache.close(); });
  return first_failure({dumped, preserved, closed});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A manager of arrays and a cache are destroyed while another thread dumps, preserves or "
          "closes. The destructor waits for that call, at any step, and nothing is left.",
      .rows = {"E9"},
      .roles = {{"root", root}},
      .stays = {"file:kept"},
  };
});

}  // namespace
}  // namespace lastref::harness
