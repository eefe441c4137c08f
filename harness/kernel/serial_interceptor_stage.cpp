// serial_interceptor_stage: the signals and requests of the Stage, and its lines in the journal.
#include <unistd.h>

#include <algorithm>
#include <span>

#include "harness/kernel/process.hpp"
#include "harness/kernel/serial_interceptor.hpp"

namespace lastref::harness {

void SerialInterceptor::tell(std::string_view signal) noexcept {
  ControlBlock& shared = control_block();
  const ObjectText given(signal);
  if (!shared.signals.tell(given)) {
    return;
  }
  for (ActorId at = 0; at < shared.actors_used; ++at) {
    Actor& actor = shared.actors[at];
    if (actor.state == ActorState::awaiting && actor.object == given.view()) {
      actor.state = ActorState::ready;
    }
  }
}

bool SerialInterceptor::await(std::string_view signal) noexcept {
  ControlBlock& shared = control_block();
  const ObjectText wanted(signal);
  ask();
  while (!shared.signals.was_told(wanted)) {
    self().object = wanted;
    pass_on(ActorState::awaiting);
    if (self().late) {
      return shared.signals.was_told(wanted);
    }
  }
  return true;
}

void SerialInterceptor::send(std::string_view signal, std::string_view bytes) noexcept {
  control_block().signals.put(ObjectText(signal), bytes);
  tell(signal);
}

std::optional<std::string> SerialInterceptor::receive(std::string_view signal) noexcept {
  await(signal);
  return control_block().signals.mail(ObjectText(signal));
}

bool SerialInterceptor::resume(std::string_view role) {
  const ControlBlock& shared = control_block();
  const bool any = std::ranges::any_of(
      std::span(shared.processes).first(shared.processes_used),
      [&](const Process& each) { return each.live && each.stopped && each.plays(role); });
  ask_controller(Request::resume_role, role);
  return any;
}

std::size_t SerialInterceptor::processes(std::string_view role) {
  const ControlBlock& shared = control_block();
  return static_cast<std::size_t>(
      std::ranges::count_if(std::span(shared.processes).first(shared.processes_used),
                            [&](const Process& each) { return each.live && each.plays(role); }));
}

bool SerialInterceptor::fork_stranger(RunContext& context, const std::function<void()>& body) {
  const std::uint16_t stranger = new_process(control_block(), "stranger", process());
  const ActorId actor = harness::new_actor(control_block(), stranger);
  const pid_t pid = ::fork();
  LASTREF_ASSERT(pid >= 0);
  if (pid == 0) {
    become(stranger, actor);
    body();
    end(0);
  }
  publish_pid(context, stranger, pid);
  note_fact(run(), stranger, fact::born, role(), pid);
  return true;
}

void SerialInterceptor::ask_controller(Request request, std::string_view role) noexcept {
  control_block().request_role.assign(role);
  ask_controller(request);
}

void SerialInterceptor::ask_controller(Request request) noexcept {
  const std::uint32_t turns = control_block().turns_on_end;
  give_controller(control_block(), request);
  take_turn(control_block(), actor());
  control_block().turns_on_end = turns;  // It is still the same turn.
}

void SerialInterceptor::note(std::string_view operation,
                             std::string_view text,
                             bool begins,
                             int error) noexcept {
  if (begins) {
    this->begins(operation);
  }
  const PendingCall pending_call{.name = operation, .text = text};
  if (Record* made =
          record(pending_call, begins ? RecordKind::operation_begin : RecordKind::operation_end)) {
    made->error = error;
    Journal::publish(*made);
  }
}

void SerialInterceptor::fact(std::string_view name,
                             std::string_view text,
                             std::string_view object) noexcept {
  const PendingCall pending_call{.name = name, .object = object, .text = text};
  if (Record* made = record(pending_call, RecordKind::fact)) {
    Journal::publish(*made);
  }
}

}  // namespace lastref::harness
