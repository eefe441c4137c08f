// serial_interceptor_stage: what the Stage tells, awaits and asks for, and its lines in the
// journal.
#include <algorithm>

#include "harness/kernel/serial_interceptor.hpp"

namespace lastref::harness {
namespace {

bool is_given(const ControlBlock& shared, const ObjectText& signal) {
  const auto given = std::span(shared.signals).first(shared.signal_count);
  return std::ranges::any_of(given, [&](const ObjectText& each) { return each == signal.view(); });
}

Mail* mail_under(ControlBlock& shared, const ObjectText& signal) {
  const auto sent = std::span(shared.mails).first(shared.mail_count);
  const auto found =
      std::ranges::find_if(sent, [&](const Mail& each) { return each.signal == signal.view(); });
  return found == sent.end() ? nullptr : &*found;
}

}  // namespace

void SerialInterceptor::tell(std::string_view signal) noexcept {
  ControlBlock& shared = control_block();
  const ObjectText given(signal);
  if (is_given(shared, given)) {
    return;
  }
  LASTREF_ASSERT(shared.signal_count < signals_max);
  shared.signals[shared.signal_count++] = given;
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
  while (!is_given(shared, wanted)) {
    self().object = wanted;
    pass_on(ActorState::awaiting);
    if (self().late) {
      return is_given(shared, wanted);
    }
  }
  return true;
}

void SerialInterceptor::send(std::string_view signal, std::string_view bytes) noexcept {
  ControlBlock& shared = control_block();
  const ObjectText under(signal);
  LASTREF_ASSERT(bytes.size() <= mail_size_max);
  Mail* mail = mail_under(shared, under);
  if (mail == nullptr) {
    LASTREF_ASSERT(shared.mail_count < mails_max);
    mail = &shared.mails[shared.mail_count++];
    mail->signal = under;
  }
  mail->size = static_cast<std::uint16_t>(bytes.size());
  std::ranges::copy(bytes, mail->bytes.begin());
  tell(signal);
}

std::optional<std::string> SerialInterceptor::receive(std::string_view signal) noexcept {
  if (!await(signal)) {
    return std::nullopt;
  }
  const Mail* mail = mail_under(control_block(), ObjectText(signal));
  return mail == nullptr ? std::string() : std::string(mail->bytes.data(), mail->size);
}

void SerialInterceptor::ask_controller(Request request, std::string_view role) noexcept {
  control_block().request_role.assign(role);
  give_controller(control_block(), request);
  take_turn(control_block(), actor());
}

void SerialInterceptor::note(std::string_view operation,
                             std::string_view text,
                             bool begins,
                             int error) noexcept {
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
