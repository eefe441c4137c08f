// journeys_test: any order of sending, receiving, dropping and cleaning up, against a count of the
// holders of each file.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/joblib.hpp>

#include "property_tests/impl/reducers/send_fixture.hpp"

namespace lastref {
namespace {

using pretend::SendFixture;

enum class Act : std::uint8_t {
  send,
  deliver,
  lose,
  drop_view,
  new_array,
  invalidate,
  clean,
  try_delete,
  enter,
  unlink,
};
constexpr int acts = 10;

void show(Act act, std::ostream& out) {
  constexpr const char* words[] = {"send",
                                   "deliver",
                                   "lose",
                                   "drop_view",
                                   "new_array",
                                   "invalidate",
                                   "clean",
                                   "try_delete",
                                   "enter",
                                   "unlink"};
  out << words[static_cast<std::size_t>(act)];
}

/// One action, and the index of its object among the existing ones.
struct Step {
  Act act = Act::send;
  std::size_t which = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  show(step.act, out);
  return out << '(' << step.which << ')';
}

rc::Gen<Step> any_step() {
  const auto act = rc::gen::weightedOneOf<int>(
      {{3, rc::gen::just(0)}, {2, rc::gen::just(1)}, {6, rc::gen::inRange(0, acts)}});
  return rc::gen::map(rc::gen::pair(act, rc::gen::inRange<std::size_t>(0, 6)), [](auto made) {
    return Step{.act = static_cast<Act>(made.first), .which = made.second};
  });
}

class Journeys {
 public:
  explicit Journeys(bool attributed) : fixture_({.max_nbytes = 10}, attributed) {
    must_be(fixture_.resources->set_current_context("a"));
    live_ = {"a"};
    for (std::size_t slot = 0; slot < slots; ++slot) {
      renew(slot);
    }
  }

  void take(const Step& step) {
    switch (step.act) {
      case Act::send:
        return send(step.which % slots);
      case Act::deliver:
        return deliver(step.which);
      case Act::lose:
        return lose(step.which);
      case Act::drop_view:
        return drop_view(step.which);
      case Act::new_array:
        return renew(step.which % slots);
      case Act::invalidate:
        return invalidate(step.which % slots);
      case Act::clean:
        must_be(fixture_.resources->clean_up(context_of(step.which)));
        return forget(context_of(step.which), /*keeps_files=*/false);
      case Act::try_delete:
        must_be(joblib::TemporaryResourcesManager(*fixture_.resources)
                    .try_delete_folder(/*allow_non_empty=*/false, context_of(step.which)));
        return forget(context_of(step.which), /*keeps_files=*/true);
      case Act::enter:
        must_be(fixture_.resources->set_current_context(context_of(step.which)));
        live_.insert(context_of(step.which));
        current_ = context_of(step.which);
        return;
      case Act::unlink:
        return unlink(step.which);
    }
  }

  void check() const {
    for (const std::string& path : paths_) {
      const auto on_its_way = std::ranges::count(sents_, path, &OnItsWay::path);
      const auto there = std::ranges::count(views_, path, &There::path);
      const auto expected = keeps_.count(path) + static_cast<std::size_t>(on_its_way) +
                            static_cast<std::size_t>(there);
      RC_ASSERT(fixture_.counts.of(path) == expected);
      const bool exists = std::filesystem::exists(path);
      RC_ASSERT(exists == (expected > 0 && !unlinked_.contains(path)));
      RC_ASSERT(fixture_.receiver.is_temporary(path) == (there > 0));
    }
    RC_ASSERT(fixture_.counts.misuse == std::vector<std::string>());
  }

  void end() {
    sents_.clear();
    views_.clear();
    fixture_.end();
    RC_ASSERT(fixture_.counts.empty());
    RC_ASSERT(fixture_.folder.names().empty());
    RC_ASSERT(fixture_.counts.misuse == std::vector<std::string>());
    RC_ASSERT(fixture_.os.said == std::string());
  }

 private:
  static constexpr std::size_t slots = 3;

  struct OnItsWay {
    Sent sent;
    std::string path;
    std::byte first;
  };
  struct There {
    Array array;
    std::string path;
  };

  static void must_be(const Status& status) { RC_ASSERT(status.has_value()); }
  static std::string context_of(std::size_t which) { return which % 2 == 0 ? "a" : "b"; }

  static std::string left_of(const std::string& context) { return "left of " + context; }

  void renew(std::size_t slot) {
    arrays_.at(slot) = pretend::patterned(20);
    arrays_.at(slot)->mutable_data().value()[0] = static_cast<std::byte>(++made_);
    known_[slot].reset();
  }

  void send(std::size_t slot) {
    auto& path = known_[slot];
    if (path && unlinked_.contains(*path)) {
      // Found missing, it is released.
      keeps_.erase(*path);
      path.reset();
    }
    const bool is_known = path && keeps_.contains(*path);
    auto sent = fixture_.forward->reduce(*arrays_.at(slot));
    RC_ASSERT(sent.has_value() == (is_known || live_.contains(current_)));
    if (!sent) {
      RC_ASSERT(sent.error().code == std::errc::operation_canceled);
      path.reset();
      return;
    }
    const std::string file = fixture_.file_of(*sent);
    if (is_known) {
      RC_ASSERT(file == *path);
    } else {
      RC_ASSERT(paths_.insert(file).second);
      keeps_[file] = current_;
      for (auto& [each, context] : keeps_) {
        context = context == left_of(current_) ? current_ : context;
      }
      path = file;
    }
    sents_.push_back(
        {.sent = *std::move(sent), .path = file, .first = arrays_.at(slot)->data()[0]});
  }

  void deliver(std::size_t which) {
    if (sents_.empty()) {
      return;
    }
    const auto at = sents_.begin() + static_cast<std::ptrdiff_t>(which % sents_.size());
    auto rebuilt = fixture_.receiver.rebuild(SendFixture::travel(at->sent));
    RC_ASSERT(rebuilt.has_value() == !unlinked_.contains(at->path));
    if (!fixture_.parent->is_attributed()) {
      at->sent.reference->release_ownership();
    }
    if (rebuilt) {
      RC_ASSERT(rebuilt->data()[0] == at->first);
      views_.push_back({.array = *std::move(rebuilt), .path = at->path});
    }
    sents_.erase(at);
  }

  void lose(std::size_t which) {
    if (!sents_.empty()) {
      sents_.erase(sents_.begin() + static_cast<std::ptrdiff_t>(which % sents_.size()));
    }
  }

  void drop_view(std::size_t which) {
    if (!views_.empty()) {
      views_.erase(views_.begin() + static_cast<std::ptrdiff_t>(which % views_.size()));
    }
  }

  void invalidate(std::size_t slot) {
    must_be(fixture_.forward->invalidate(*arrays_.at(slot)));
    if (known_[slot]) {
      keeps_.erase(*known_[slot]);
      known_[slot].reset();
    }
  }

  void forget(const std::string& context, bool keeps_files) {
    live_.erase(context);
    if (!keeps_files) {
      std::erase_if(keeps_, [&](const auto& each) { return each.second == context; });
    }
    for (auto& [path, its_context] : keeps_) {
      // Kept to the end, unless the context uses its folder again.
      its_context = its_context == context ? left_of(context) : its_context;
    }
    // An empty folder was removed, after its contents.
    std::erase_if(keeps_, [](const auto& each) {
      return !std::filesystem::exists(std::filesystem::path(each.first).parent_path());
    });
  }

  void unlink(std::size_t which) {
    std::vector<std::string> there;
    std::ranges::copy_if(paths_, std::back_inserter(there), [](const std::string& path) {
      return std::filesystem::exists(path);
    });
    if (!there.empty()) {
      const std::string& path = there[which % there.size()];
      std::filesystem::remove(path);
      unlinked_.insert(path);
    }
  }

  SendFixture fixture_;
  std::array<std::optional<Array>, slots> arrays_;
  std::map<std::size_t, std::optional<std::string>> known_;
  std::set<std::string> live_;
  std::string current_ = "a";
  std::set<std::string> paths_;
  std::map<std::string, std::string> keeps_;  // path: context
  std::set<std::string> unlinked_;
  std::vector<OnItsWay> sents_;
  std::vector<There> views_;
  int made_ = 0;
};

RC_GTEST_PROP(JourneyProperties, a_file_lives_as_long_as_somebody_answers_for_it_R4_R7_M4_M5, ()) {
  Journeys journeys(*rc::gen::arbitrary<bool>());
  for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
    journeys.take(step);
    journeys.check();
  }
  journeys.end();
}

}  // namespace
}  // namespace lastref
