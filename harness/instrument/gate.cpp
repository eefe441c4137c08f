#include "harness/instrument/gate.hpp"

namespace lastref::harness {

Passage Gate::before(const Approach& /*approach*/) noexcept {
  return {};
}
void Gate::after(const Approach& /*approach*/, const Return& /*how*/) noexcept {}
std::string_view Gate::role_of(os::Pid /*pid*/) const noexcept {
  return {};
}
void Gate::closes(os::Fd /*fd*/) noexcept {}
void Gate::bound(std::string_view /*path*/) noexcept {}
void Gate::signals(os::Fd /*process*/, os::Signal /*signal*/) noexcept {}
void Gate::signalled(os::Fd /*process*/, os::Signal /*signal*/) noexcept {}
void Gate::ask() noexcept {}

bool Gate::wait_ready(std::span<const os::PollItem> /*items*/,
                      std::optional<os::Instant> /*deadline*/) noexcept {
  LASTREF_ASSERT(serialises());
  return false;
}

void Gate::wait_for(Wait /*reason*/, const void* /*thing*/) noexcept {
  LASTREF_ASSERT(serialises());
}

void Gate::wake(Wait /*reason*/, const void* /*thing*/) noexcept {
  LASTREF_ASSERT(serialises());
}

os::Instant Gate::now() noexcept {
  LASTREF_ASSERT(serialises());
  return {};
}

void Gate::fill(os::Buffer /*into*/) noexcept {
  LASTREF_ASSERT(serialises());
}

ActorId Gate::new_actor() noexcept {
  LASTREF_ASSERT(serialises());
  return 0;
}

void Gate::drop_actor(ActorId /*actor*/) noexcept {
  LASTREF_ASSERT(serialises());
}
void Gate::actor_begun() noexcept {
  LASTREF_ASSERT(serialises());
}
void Gate::actor_begins(ActorId /*actor*/) noexcept {
  LASTREF_ASSERT(serialises());
}
void Gate::actor_ends() noexcept {
  LASTREF_ASSERT(serialises());
}
void Gate::join(ActorId /*actor*/) noexcept {
  LASTREF_ASSERT(serialises());
}

}  // namespace lastref::harness
