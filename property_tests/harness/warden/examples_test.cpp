// examples_test: for each example of the reference, its tracker counts what its calls made.
//
// A thread waits at a call that makes, opens or ends something; meanwhile its tracker is asked. For
// that this process is a member of the tree, so the tracker remains until the root has ended.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lastref/kernel_os.hpp>
#include <lastref/tracker_client.hpp>

#include "harness/platform/child_process.hpp"
#include "property_tests/harness/warden/agreement.hpp"
#include "property_tests/harness/warden/watched.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

using Counts = std::vector<tracker::Count>;

constexpr std::string_view tracker_role = "child.1.1";
constexpr std::size_t workers = 2;

/// Holds the calls at which the tracker is asked.
class Asker {
 public:
  explicit Asker(const std::string& folder) : agreement_(folder) {}

  bool may_be_made(const Moment& moment) {
    const CallSeen& call = moment.call;
    if (call.call == "bind") {
      tree_ = call.object.substr(0, call.object.rfind('/'));
    }
    if (call.role == tracker_role) {
      see_end(moment);
      return true;
    }
    if (!is_asked_at(call)) {
      return true;
    }
    std::string at = fmt::format("{}/{}({})#{}", call.role, call.call, call.object, call.k);
    if (is_first_open(call)) {
      // Each worker holds it and has not opened it yet, so the holders are known.
      at = call.object;
      opened_by_[at].insert(moment.process);
      if (opened_by_[at].size() < workers) {
        return false;
      }
    }
    return done_.contains(at) || look(moment, at);
  }

  const Agreement& agreement() const noexcept { return agreement_; }
  /// The names that were counted when a worker ended last.
  const std::set<std::string>& at_last_end() const noexcept { return at_last_end_; }
  std::size_t openings() const noexcept { return opened_by_.size(); }
  bool has_seen_end() const noexcept { return has_seen_end_; }

  /// The planted fault: from the first opening on, a reference that is never released.
  bool holds_for_ever = false;

 private:
  bool is_asked_at(const CallSeen& call) const {
    const bool is_root = call.role == "root";
    if (tree_.empty() || (is_root && call.call == "execve")) {
      return false;
    }
    if (call.call == "exit_group") {
      return is_root || is_worker(call);
    }
    return is_first_open(call) ||
           (is_root && (agreement_.is_counted_kind(call.object) ||
                        (call.object.starts_with("/proc/") && call.object.ends_with("/stat"))));
  }
  /// A worker is started through a child of the root.
  static bool is_worker(const CallSeen& call) {
    return call.role != tracker_role && std::ranges::count(call.role, '.') == 2;
  }
  bool is_first_open(const CallSeen& call) const {
    return is_worker(call) && call.k == 1 && agreement_.is_counted_kind(call.object);
  }

  /// Whether it has been compared at this moment. The process that made the call may be killed
  /// meanwhile: then the next one that waits compares.
  bool look(const Moment& moment, const std::string& at) {
    if (!asked_at_.empty() &&
        answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      compare(moment.names);
    }
    if (asked_at_.empty() && !done_.contains(at)) {
      asked_at_ = at;
      look_ = {.at = at, .before = moment.names.there()};
      note_processes(moment);
      answer_ = std::async(std::launch::async, [this] { return ask(); });
    }
    return done_.contains(at);
  }

  void compare(const NamesLedger& names) {
    look_.counts = answer_.get();
    look_.after = names.there();
    agreement_.judge(look_);
    done_.insert(asked_at_);
    asked_at_.clear();
    if (ends_ == Ends::worker) {
      at_last_end_ = names_of(look_.counts);
    } else if (ends_ == Ends::root) {
      // It may wait for the tracker, which may wait for this process.
      left_ = std::async(std::launch::async, [this] { client_.reset(); });
    }
  }

  /// Only the root makes names. A complete dump is renamed without the end of its name.
  static std::string made_by(const CallSeen& call) {
    if (call.role != "root" ||
        (call.call != "mkdirat" && call.call != "openat" && call.call != "renameat")) {
      return "";
    }
    return call.call == "renameat" ? call.object.substr(0, call.object.rfind(".part"))
                                   : call.object;
  }

  void note_processes(const Moment& moment) {
    root_ = moment.call.role == "root" ? moment.process : root_;
    look_.root = root_;
    look_.opened_by = opened_by_;
    look_.is_opened = is_first_open(moment.call);
    look_.made = made_by(moment.call);
    const bool is_end = moment.call.call == "exit_group";
    ends_ = !is_end ? Ends::nobody : moment.call.role == "root" ? Ends::root : Ends::worker;
    for (const auto& [name, processes] : opened_by_) {
      for (const int process : processes) {
        if (is_dead(process, std::chrono::milliseconds(0))) {
          look_.dead.insert(process);
        }
      }
    }
  }

  /// In a thread of its own: the tracker may be at a call that waits for this process.
  Counts ask() {
    if (!client_) {
      auto joined = tracker::Client::join(os_, tree_);
      EXPECT_TRUE(joined) << describe(joined.error());
      if (!joined) {
        return {};
      }
      client_ = *std::move(joined);
    }
    if (holds_for_ever && look_.is_opened) {
      EXPECT_TRUE(client_->hold({.type = ResourceType::file, .name = look_.at}));
    }
    const auto counts = client_->counts();
    EXPECT_TRUE(counts) << describe(counts.error());
    return counts.value_or(Counts{});
  }

  /// The tracker removes its own names last.
  void see_end(const Moment& moment) {
    if (moment.call.call == "unlinkat" && moment.call.object == tree_ + "/socket") {
      has_seen_end_ = true;
      agreement_.judge_end(moment.names.there());
    }
  }

  Agreement agreement_;
  os::KernelOs os_;
  std::unique_ptr<tracker::Client> client_;
  std::string tree_;
  int root_ = 0;
  std::map<std::string, std::set<int>> opened_by_;
  std::set<std::string> at_last_end_;
  bool has_seen_end_ = false;
  std::set<std::string> done_;
  std::string asked_at_;
  enum class Ends : std::uint8_t { nobody, worker, root } ends_ = Ends::nobody;
  Look look_;
  std::future<Counts> answer_;
  std::future<void> left_;
};

class Examples : public WardenTest {
 protected:
  void SetUp() override {
    WardenTest::SetUp();
    for (const char* const name : {"runtime", "temp", "cache"}) {
      folder_.make_folder(name);
      ::chmod(folder_.path(name).c_str(), S_IRWXU);
    }
    folder_.write("said", "");
  }
  void TearDown() override { empty(folder_); }

  /// The script runs in the process that becomes the example's root.
  Watched run(const std::string& name, const std::string& script = "") {
    return must({.command = {"/usr/bin/env",
                             "LASTREF_RUNTIME_FOLDER=" + folder_.path("runtime"),
                             "LASTREF_TEMP_FOLDER=" + folder_.path("temp"),
                             "XDG_CACHE_HOME=" + folder_.path("cache"),
                             "/bin/sh",
                             "-c",
                             script + "exec \"$0\" >> " + folder_.path("said"),
                             EXAMPLES "/" + name},
                 .may_be_made = [this](const Moment& at) { return asker_.may_be_made(at); }});
  }

  /// The folder for caches remains for the next program.
  void agrees(const Watched& watched) {
    EXPECT_EQ(watched.root, os::ChildExit{});
    EXPECT_THAT(asker_.agreement().complaints(), IsEmpty());
    EXPECT_TRUE(asker_.has_seen_end());
    for (const Leftover& each : watched.leftovers) {
      EXPECT_EQ(each.path, folder_.path("cache/lastref"));
    }
  }

  const pretend::FreshFolder folder_;
  Asker asker_{folder_.path()};
};

TEST_F(Examples, a_map_of_rows_has_a_ledger_that_agrees_with_its_counts) {
  agrees(run("parallel_map"));
  EXPECT_EQ(asker_.openings(), 1U);
  EXPECT_THAT(asker_.at_last_end(), IsEmpty());
}

TEST_F(Examples, a_killed_worker_leaves_a_ledger_that_agrees_with_the_counts) {
  agrees(run("a_worker_is_killed"));
  EXPECT_EQ(asker_.openings(), 2U);
  EXPECT_THAT(asker_.at_last_end(), IsEmpty());
}

TEST_F(Examples, a_shared_cache_has_a_ledger_that_agrees_with_its_counts) {
  agrees(run("a_shared_cache"));
  EXPECT_EQ(asker_.openings(), 1U);
  EXPECT_THAT(asker_.at_last_end(), ElementsAre(EndsWith(".cache"), EndsWith(".lock")));
}

TEST_F(Examples, a_name_that_the_tracker_does_not_know_of_is_told) {
  run("parallel_map", ": > " + folder_.path("temp/stray; "));
  EXPECT_THAT(asker_.agreement().complaints(), Each(HasSubstr("temp/stray")));
  std::set<std::string> complaints;
  for (const std::string& each : asker_.agreement().complaints()) {
    // Before the colon is the call at which it was seen.
    const std::size_t colon = each.rfind(": ");
    complaints.insert(pretend::with_replacements(
        colon == std::string::npos ? each : each.substr(colon + 2), {{folder_.path(), "FOLDER"}}));
  }
  pretend::expect_transcript(std::vector<std::string>(complaints.begin(), complaints.end()));
}

TEST_F(Examples, a_count_that_nobody_takes_back_is_told) {
  asker_.holds_for_ever = true;
  run("parallel_map");
  EXPECT_THAT(asker_.agreement().complaints(), Contains(HasSubstr(std::to_string(::getpid()))));
  EXPECT_THAT(asker_.at_last_end(), ElementsAre(EndsWith(".npy")));
}

}  // namespace
}  // namespace lastref::harness::warden
