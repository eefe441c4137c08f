#include "harness/kernel/kernel_stage.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "harness/kernel/exec_handoff.hpp"
#include "harness/kernel/inherited_state.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {

KernelStage::KernelStage(RunContext& context,
                         RunMember& member,
                         os::Os& os,
                         InstrumentedOs* instrumented,
                         std::span<const std::string> arguments)
    : Stage({.scenario = *context.scenario,
             .parameters = context.parameters,
             .os = os,
             .role = std::string(member.role()),
             .arguments = arguments,
             .folder = context.files,
             .spare_folder = context.spare},
            *this),
      context_(context),
      member_(member),
      instrumented_(instrumented),
      outside_({.files = context.files,
                .is_isolated = context.is_isolated,
                .is_read = context.run.is_gated() && !context.plays_in(ambient::closed) &&
                           !context.plays_in(ambient::full_stderr),
                .note_writing =
                    [&member](const std::string& path) { member.fact(fact::outside, path, {}); }}),
      limits_(context),
      blocked_(blocked_signals()) {
  if (context_.plays_in(ambient::closed) && role() == "root") {
    close_standard_descriptors();  // After the product has seen them open, not before.
  }
}

Status KernelStage::start(const std::string& role) {
  LASTREF_TRY(tree, tree_to_join());
  if (context_.run.is_gated()) {
    return status_of(spawn_process(context_,
                                   member_.process(),
                                   {.role = role, .arguments = {tree}, .fds = {}, .blocked = {}}));
  }
  LASTREF_TRY(
      child,
      os().spawn(
          {.entry = role, .arguments = {tree}, .fds = {}, .blocked = {}, .end_wanted = false}));
  return os().close(child.process);
}

Result<std::string> KernelStage::receive(const std::string& signal) {
  std::optional<std::string> bytes = member_.receive(signal);
  return bytes ? Result<std::string>(*std::move(bytes)) : nobody_left(signal);
}

void KernelStage::work_in(const std::string& folder) {
  const int done = ::chdir(folder.c_str());
  LASTREF_ASSERT(done == 0);
}

bool KernelStage::hears_signals() const noexcept {
  return (blocked_signals() & ~blocked_) == 0;
}

bool KernelStage::fork_stranger(std::function<Status()> body) {
  return member_.fork_stranger(context_, [&] { note_end(body()); });
}

std::optional<std::uint64_t> KernelStage::heap_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::nullopt;
#else
  if (instrumented_ == nullptr) {
    return std::nullopt;
  }
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd - instrumented_->own_memory();
#endif
}

std::uint64_t KernelStage::mapped() {
  return context_.run.lacks_gate("it asks how much is mapped") ? 0 : instrumented_->mapped();
}

bool KernelStage::is_undisturbed() const noexcept {
  const ControlBlock& control_block = context_.run.control_block();
  return !control_block.interceptors.is_disturbed && !control_block.ungated.has_kills.load();
}

void KernelStage::refute(const std::string& claim, const std::string& seen) {
  member_.fact(fact::refuted, claim, {});
  member_.fact(fact::seen, seen, {});
}

void KernelStage::note_end(const Status& status) {
  const AllocationScope scope(/*is_products=*/false);
  if (!status) {
    member_.fact(fact::failed, describe(status.error()), {});
  }
}

void KernelStage::note(std::string_view operation,
                       const std::string& text,
                       bool begins,
                       int error) {
  member_.note(operation, text, begins, error);
  if (!begins && context_.ambient != nullptr) {
    look_around();
  }
}

/// After an operation: applies those parts of an ambient that need something to exist, and checks
/// what must not exist.
void KernelStage::look_around() {
  const bool is_first = !std::exchange(has_looked_around_, true);
  if (is_first && context_.plays_in(ambient::stranger)) {
    fork_stranger([this] {
      stay_until_killed();
      return ok();
    });
  }
  if (is_first && context_.plays_in(ambient::second_tree) && role() == "root") {
    // Queries about counts go to the first tree.
    const RecordText asked = context_.run.control_block().listener;
    context_.makes_second_tree = true;
    second_ = tracker::Client::lead(os());
    const auto tree = second_->tree();
    context_.second_tree = tree.value_or(std::string());
    context_.makes_second_tree = false;
    context_.run.control_block().listener = asked;
  }
  if (context_.plays_in(ambient::closed)) {
    if (const std::string seen = wrong_standard_descriptor(); !seen.empty()) {
      refute("E1: 0, 1 and 2 are the program's, whatever it has closed", seen);
    }
    if (is_first && role() == "root") {
      open_users_file_as_standard_error();
    }
  }
}

}  // namespace lastref::harness
