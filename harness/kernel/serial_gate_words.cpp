// serial_gate_words: what the Stage says, awaits and asks for, and its lines in the journal.
#include <algorithm>

#include "harness/kernel/serial_gate.hpp"

namespace lastref::harness {
namespace {

bool is_said(const Segment& shared, const ObjectText& word) {
  const auto said = std::span(shared.words).first(shared.word_count);
  return std::ranges::any_of(said, [&](const ObjectText& each) { return each == word.view(); });
}

Mail* mail_under(Segment& shared, const ObjectText& word) {
  const auto sent = std::span(shared.mails).first(shared.mail_count);
  const auto found =
      std::ranges::find_if(sent, [&](const Mail& each) { return each.word == word.view(); });
  return found == sent.end() ? nullptr : &*found;
}

}  // namespace

void SerialGate::tell(std::string_view word) noexcept {
  Segment& shared = segment();
  const ObjectText said(word);
  if (is_said(shared, said)) {
    return;
  }
  LASTREF_ASSERT(shared.word_count < words_max);
  shared.words[shared.word_count++] = said;
  for (ActorId at = 0; at < shared.actors_used; ++at) {
    Actor& actor = shared.actors[at];
    if (actor.state == ActorState::awaiting && actor.object == said.view()) {
      actor.state = ActorState::ready;
    }
  }
}

bool SerialGate::await(std::string_view word) noexcept {
  Segment& shared = segment();
  const ObjectText wanted(word);
  ask();
  while (!is_said(shared, wanted)) {
    self().object = wanted;
    pass_on(ActorState::awaiting);
    if (self().late) {
      return is_said(shared, wanted);
    }
  }
  return true;
}

void SerialGate::send(std::string_view word, std::string_view bytes) noexcept {
  Segment& shared = segment();
  const ObjectText under(word);
  LASTREF_ASSERT(bytes.size() <= mail_size_max);
  Mail* mail = mail_under(shared, under);
  if (mail == nullptr) {
    LASTREF_ASSERT(shared.mail_count < mails_max);
    mail = &shared.mails[shared.mail_count++];
    mail->word = under;
  }
  mail->size = static_cast<std::uint16_t>(bytes.size());
  std::ranges::copy(bytes, mail->bytes.begin());
  tell(word);
}

std::optional<std::string> SerialGate::receive(std::string_view word) noexcept {
  if (!await(word)) {
    return std::nullopt;
  }
  const Mail* mail = mail_under(segment(), ObjectText(word));
  return mail == nullptr ? std::string() : std::string(mail->bytes.data(), mail->size);
}

void SerialGate::ask_controller(Request request, std::string_view role) noexcept {
  segment().request_role.assign(role);
  give_controller(segment(), request);
  take_turn(segment(), actor());
}

void SerialGate::note(std::string_view word,
                      std::string_view text,
                      bool begins,
                      int error) noexcept {
  const Approach approach{.place = word, .text = text};
  if (Record* made = record(approach, begins ? RecordKind::word_begin : RecordKind::word_end)) {
    made->error = error;
    Journal::publish(*made);
  }
}

void SerialGate::fact(std::string_view place,
                      std::string_view text,
                      std::string_view object) noexcept {
  const Approach approach{.place = place, .object = object, .text = text};
  if (Record* made = record(approach, RecordKind::fact)) {
    Journal::publish(*made);
  }
}

}  // namespace lastref::harness
