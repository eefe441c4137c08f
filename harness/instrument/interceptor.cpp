#include "harness/instrument/interceptor.hpp"

namespace lastref::harness {

Injection Interceptor::before(const PendingCall& /*pending_call*/) noexcept {
  return {};
}
void Interceptor::after(const PendingCall& /*pending_call*/, const CallResult& /*how*/) noexcept {}
void Interceptor::hit(Probe /*probe*/) noexcept {}
std::string_view Interceptor::role_of(os::Pid /*pid*/) const noexcept {
  return {};
}
void Interceptor::closes(os::Fd /*fd*/) noexcept {}
void Interceptor::bound(std::string_view /*path*/) noexcept {}
void Interceptor::signals(os::Fd /*process*/, os::Signal /*signal*/) noexcept {}
void Interceptor::signalled(os::Fd /*process*/, os::Signal /*signal*/) noexcept {}
void Interceptor::ask(ThreadStep /*step*/, std::uint64_t /*object*/) noexcept {}

bool Interceptor::wait_ready(std::span<const os::PollItem> /*items*/,
                             std::optional<os::Instant> /*deadline*/) noexcept {
  LASTREF_ASSERT(serialises());
  return false;
}

bool Interceptor::is_time_over() noexcept {
  LASTREF_ASSERT(serialises());
  return false;
}

void Interceptor::time_is_over(os::Instant /*deadline*/) noexcept {
  LASTREF_ASSERT(serialises());
}

void Interceptor::wait_for(Wait /*reason*/, const void* /*thing*/) noexcept {
  LASTREF_ASSERT(serialises());
}

void Interceptor::wake(Wait /*reason*/, const void* /*thing*/) noexcept {
  LASTREF_ASSERT(serialises());
}

os::Instant Interceptor::now() noexcept {
  LASTREF_ASSERT(serialises());
  return {};
}

void Interceptor::fill(os::Buffer /*into*/) noexcept {
  LASTREF_ASSERT(serialises());
}

ActorId Interceptor::new_actor() noexcept {
  LASTREF_ASSERT(serialises());
  return 0;
}

void Interceptor::drop_actor(ActorId /*actor*/) noexcept {
  LASTREF_ASSERT(serialises());
}
void Interceptor::actor_begun() noexcept {
  LASTREF_ASSERT(serialises());
}
void Interceptor::actor_begins(ActorId /*actor*/) noexcept {
  LASTREF_ASSERT(serialises());
}
void Interceptor::actor_ends() noexcept {
  LASTREF_ASSERT(serialises());
}
void Interceptor::join(ActorId /*actor*/) noexcept {
  LASTREF_ASSERT(serialises());
}

}  // namespace lastref::harness
