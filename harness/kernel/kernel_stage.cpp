#include "harness/kernel/kernel_stage.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "harness/kernel/born.hpp"
#include "harness/kernel/inherited.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {

KernelStage::KernelStage(RunContext& context,
                         SerialInterceptor& interceptor,
                         InstrumentedOs& os,
                         std::span<const std::string> arguments)
    : Stage({.os = os,
             .role = std::string(interceptor.role()),
             .arguments = arguments,
             .folder = context.files,
             .spare_folder = context.spare},
            *this),
      context_(context),
      interceptor_(interceptor),
      os_(os),
      outside_(
          {.files = context.files,
           .has_walls = context.has_walls,
           .is_read = !context.plays_in(ambient::closed) && !context.plays_in(ambient::full_stderr),
           .note_writing =
               [&interceptor](const std::string& path) { interceptor.fact(fact::outside, path); }}),
      limits_(context),
      blocked_(blocked_signals()) {
  if (context_.plays_in(ambient::closed) && role() == "root") {
    close_standard_descriptors();  // After the product has seen them open, not before.
  }
}

Status KernelStage::start(const std::string& role) {
  LASTREF_TRY(tree, tree_to_join());
  const auto pid = give_birth(context_,
                              interceptor_.process(),
                              {.role = role, .arguments = {tree}, .fds = {}, .blocked = {}});
  return status_of(pid);
}

Result<std::string> KernelStage::receive(const std::string& signal) {
  std::optional<std::string> bytes = interceptor_.receive(signal);
  return bytes ? Result<std::string>(*std::move(bytes)) : nobody_left(signal);
}

void KernelStage::work_in(const std::string& folder) {
  const int done = ::chdir(folder.c_str());
  LASTREF_ASSERT(done == 0);
}

bool KernelStage::hears_signals() const noexcept {
  return (blocked_signals() & ~blocked_) == 0;
}

void KernelStage::stop(const std::string& role) {
  interceptor_.ask_controller(Request::stop_role, role);
}

bool KernelStage::resume(const std::string& role) {
  const ControlBlock& control_block = context_.run.control_block();
  const auto born = std::span(control_block.processes).first(control_block.processes_used);
  const bool any = std::ranges::any_of(
      born, [&](const Process& each) { return each.live && each.stopped && each.plays(role); });
  interceptor_.ask_controller(Request::resume_role, role);
  return any;
}

void KernelStage::kill(const std::string& role) {
  interceptor_.ask_controller(Request::kill_role, role);
}

void KernelStage::interrupt_all() {
  interceptor_.ask_controller(Request::interrupt_all, {});
}

std::size_t KernelStage::processes(const std::string& role) {
  const ControlBlock& control_block = context_.run.control_block();
  const auto born = std::span(control_block.processes).first(control_block.processes_used);
  return static_cast<std::size_t>(std::ranges::count_if(
      born, [&](const Process& each) { return each.live && each.plays(role); }));
}

bool KernelStage::fork_stranger(std::function<Status()> body) {
  ControlBlock& control_block = context_.run.control_block();
  const std::uint16_t process = new_process(control_block, "stranger", interceptor_.process());
  const ActorId actor = new_actor(control_block, process);
  const pid_t pid = ::fork();
  LASTREF_ASSERT(pid >= 0);
  if (pid == 0) {
    interceptor_.become(process, actor);
    note_end(body());
    interceptor_.end(0);
  }
  be_known_as(context_, process, pid);
  note_fact(context_.run, process, fact::born, interceptor_.role(), pid);
  return true;
}

std::optional<std::uint64_t> KernelStage::heap_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::nullopt;
#else
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd - os_.own_memory();
#endif
}

bool KernelStage::is_undisturbed() const noexcept {
  return !context_.run.control_block().interceptors.has_fired();
}

void KernelStage::refute(const std::string& claim, const std::string& seen) {
  interceptor_.fact(fact::refuted, claim);
  interceptor_.fact(fact::seen, seen);
}

void KernelStage::note_end(const Status& status) {
  const AllocationScope scope(/*is_products=*/false);
  if (!status) {
    interceptor_.fact(fact::failed, describe(status.error()));
  }
}

void KernelStage::note(std::string_view operation,
                       const std::string& text,
                       bool begins,
                       int error) {
  if (begins) {
    interceptor_.begins(operation);
  }
  interceptor_.note(operation, text, begins, error);
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
    second_ = tracker::Client::lead(os_);
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
