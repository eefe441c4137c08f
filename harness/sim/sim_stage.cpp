#include "harness/sim/sim_stage.hpp"

#include <algorithm>
#include <optional>

#include "harness/program/arena.hpp"

namespace lastref::harness::sim {

SimStage::SimStage(SimRun& run, Member& member, std::span<const std::string> arguments)
    : Stage({.scenario = run.scenario,
             .parameters = run.parameters,
             .os = *member.os,
             .role = member.role,
             .arguments = arguments,
             .folder = files_folder,
             .spare_folder = spare_folder_of_run},
            *this),
      run_(run),
      member_(member),
      outside_(run, member),
      limits_(run, member) {}

Outside& SimStage::outside() noexcept {
  run_.machine.kernel.accesses.touch_all();
  return outside_;
}

Limits& SimStage::limits() noexcept {
  run_.machine.kernel.accesses.touch_all();
  return limits_;
}

Status SimStage::start(const std::string& role) {
  run_.machine.kernel.accesses.touch_all();
  LASTREF_TRY(tree, tree_to_join());
  if (role_named(run_.scenario, role) == nullptr) {
    refute("the scenario has every role that it starts", role);
    return failure(std::errc::no_such_file_or_directory, role, Call::spawn);
  }
  const auto parent = run_.machine.kernel.find(member_.system->process().pid);
  run_.machine.boot(parent, {.entry = role, .arguments = {tree}, .fds = {}, .blocked = {}});
  return ok();
}

void SimStage::tell(const std::string& signal) {
  run_.machine.kernel.accesses.touch(Part::signal, 0, Access::write, signal);
  run_.signals.insert(signal);
  if (signal == run_.ask_after) {
    run_.machine.scheduler.choices().hold(/*held=*/false);
  }
}

bool SimStage::await(const std::string& signal) {
  run_.machine.scheduler.ask();
  run_.machine.kernel.accesses.touch(Part::signal, 0, Access::read, signal);
  const auto is_said = [&] { return run_.signals.contains(signal); };
  if (is_said()) {
    return true;
  }
  Awaiting mine{.actor = run_.machine.scheduler.current(), .process = &member_.system->process()};
  const std::function<bool()> heard = [&] { return mine.in_vain || is_said(); };
  run_.awaiting.push_back(&mine);
  run_.machine.scheduler.wait_until(heard, std::nullopt, "await");
  run_.machine.kernel.accesses.touch(Part::signal, 0, Access::read, signal);
  std::erase(run_.awaiting, &mine);
  return is_said();
}

void SimStage::send(const std::string& signal, const std::string& bytes) {
  LASTREF_ASSERT(bytes.size() <= mail_size_max);
  run_.mails[signal] = bytes;
  LASTREF_ASSERT(run_.mails.size() <= mails_max);
  tell(signal);
}

Result<std::string> SimStage::receive(const std::string& signal) {
  if (!await(signal)) {
    return nobody_left(signal);
  }
  const auto found = run_.mails.find(signal);
  return found == run_.mails.end() ? std::string() : found->second;
}

void SimStage::deliver(const std::string& role, os::Signal signal) {
  run_.machine.kernel.accesses.touch_all();
  for (const Member* each : run_.by_index) {
    if (each->plays(role) && each != &member_) {
      run_.machine.kernel.deliver(each->system->process(), signal);
    }
  }
}

void SimStage::work_in(const std::string& folder) {
  member_.system->process().working_folder = folder;
}

void SimStage::stop(const std::string& role) {
  deliver(role, os::Signal::stop);
  for (const Member* each : run_.by_index) {
    if (SimProcess& process = each->system->process(); each->plays(role) && process.stopped) {
      process.stopped_by = member_.system->process().token;
    }
  }
}

bool SimStage::resume(const std::string& role) {
  run_.machine.kernel.accesses.touch_all();
  const bool any = std::ranges::any_of(run_.by_index, [&](const Member* each) {
    const SimProcess& process = each->system->process();
    return each->plays(role) && process.stopped && process.state == SimProcess::State::running;
  });
  deliver(role, os::Signal::resume);
  run_.machine.scheduler.show_deaths();  // By signals that were sent to it while it was stopped.
  return any;
}

void SimStage::kill(const std::string& role) {
  run_.machine.kernel.accesses.touch_all();
  run_.kill(role);
  run_.machine.scheduler.exit_if_killed();
  run_.machine.scheduler.finish_killed();
  run_.machine.scheduler.show_deaths();
}

void SimStage::interrupt_all() {
  run_.machine.kernel.accesses.touch_all();
  for (const Member* each : run_.by_index) {
    SimProcess& process = each->system->process();
    process.sent.insert(os::Signal::interrupt);
    run_.machine.kernel.deliver(process, os::Signal::interrupt);
  }
  run_.machine.scheduler.exit_if_killed();
  run_.machine.scheduler.finish_killed();
  run_.machine.scheduler.show_deaths();
}

std::size_t SimStage::processes(const std::string& role) {
  run_.machine.kernel.accesses.touch_all();
  return static_cast<std::size_t>(std::ranges::count_if(run_.by_index, [&](const Member* each) {
    const SimProcess& process = each->system->process();
    return each->plays(role) && process.state == SimProcess::State::running && !process.doomed;
  }));
}

bool SimStage::is_undisturbed() const noexcept {
  run_.machine.kernel.accesses.touch_all();
  return !run_.interceptors.is_disturbed;
}

void SimStage::refute(const std::string& claim, const std::string& seen) {
  run_.note(member_, RecordKind::fact, fact::refuted, claim);
  run_.note(member_, RecordKind::fact, fact::seen, seen);
}

void SimStage::note_end(const Status& status) {
  const AllocationScope scope(/*is_products=*/false);
  if (!status) {
    run_.note(member_, RecordKind::fact, fact::failed, describe(status.error()));
  }
}

void SimStage::note(std::string_view operation, const std::string& text, bool begins, int error) {
  SimProcess& process = member_.system->process();
  sim::Scheduler& scheduler = run_.machine.scheduler;
  Accesses& accesses = run_.machine.kernel.accesses;
  accesses.touch(Shared::operations, begins ? Access::read : Access::write);
  accesses.touch(Shared::judged, Access::read);
  if (run_.machine.kernel.late.has_unreleased(process)) {
    accesses.touch(Shared::stores, Access::write);
  }
  // A process that has notified others of bytes which it has not released did so before the end of
  // this operation. There is no call in between, so the others can only run here.
  if (!begins && !scheduler.only && run_.machine.kernel.late.has_unreleased(process)) {
    scheduler.pause();
  }
  // It takes effect before the operation returns: its caller may notify others by other means.
  run_.machine.kernel.late.release(process);
  if (begins) {
    member_.interceptor->begins(operation);
  }
  run_.note(
      member_, begins ? RecordKind::operation_begin : RecordKind::operation_end, operation, text);
  run_.journal.back().error = error;
}

}  // namespace lastref::harness::sim
