#include "harness/instrument/instrumented_os.hpp"

#define FIU_ENABLE 1
#include <fiu-control.h>
#include <fiu.h>

namespace lastref::harness {
namespace {

/// fiu_init is idempotent, but not safe in two threads at once.
bool fiu_ready() noexcept {
  static const bool ready = fiu_init(0) == 0;
  return ready;
}

}  // namespace

InstrumentedOs::InstrumentedOs(os::Os& inner, Interceptor& interceptor) noexcept
    : inner_(inner), interceptor_(interceptor) {
  LASTREF_ASSERT(fiu_ready());
}

InstrumentedOs::~InstrumentedOs() = default;

void InstrumentedOs::adopt(os::Fd fd, std::string_view name) {
  names_.open(fd, name);
}

std::vector<std::string> InstrumentedOs::still_open() {
  return names_.still_open();
}

void InstrumentedOs::arm(Call call, int error) {
  LASTREF_ASSERT(fiu_ready());
  const int armed = fiu_enable(row_of(call).point, error, nullptr, FIU_ONETIME);
  LASTREF_ASSERT(armed == 0);
}

int InstrumentedOs::failure_at(Call call, const Injection& injection) noexcept {
  if (injection.error != 0) {
    return injection.error;
  }
  const int error = fiu_fail(row_of(call).point);
  if (error != 0) {
    // A point enabled once is disabled again: enabling it twice would leak the name in libfiu 1.1.
    fiu_disable(row_of(call).point);
  }
  return error;
}

PendingCall InstrumentedOs::begin_call(Call call, const Subject& subject) {
  PendingCall made{.call = call,
                   .name = row_of(call).method,
                   .object = subject.object,
                   .text = subject.text,
                   .value = subject.value};
  if (interceptor_.counts()) {
    made.k = names_.count(made.name, made.object);
  }
  return made;
}

tl::unexpected<Error> InstrumentedOs::injected(Call call, int error, const Subject& subject) {
  const std::string_view about = subject.text.empty() ? subject.object : subject.text;
  return tl::unexpected<Error>(Error{
      .code = std::errc{error}, .call = call, .subject = std::string(about), .injected = true});
}

InstrumentedOs::Subject InstrumentedOs::of(os::Fd fd) {
  return {.object = names_.name_of(fd), .text = names_.path_of(fd)};
}

std::string_view InstrumentedOs::name_of(os::Signal signal) noexcept {
  switch (signal) {
    case os::Signal::interrupt:
      return "interrupt";
    case os::Signal::terminate:
      return "terminate";
    case os::Signal::hang_up:
      return "hang_up";
    case os::Signal::quit:
      return "quit";
    case os::Signal::kill:
      return "kill";
    case os::Signal::stop:
      return "stop";
    case os::Signal::resume:
      return "resume";
  }
  LASTREF_ASSERT(false);
}

InstrumentedOs::Subject InstrumentedOs::of(const About& about, std::string& path) {
  if (const auto given = about.path()) {
    path = about.where != nullptr ? names_.path_of(*about.where) : std::string(*given);
    return {.object = object_of(path), .text = path, .value = about.mode};
  }
  if (about.fd) {
    Subject subject = of(*about.fd);
    subject.value = about.bytes;
    return subject;
  }
  return about.signal ? Subject{.object = name_of(*about.signal)} : Subject{};
}

void InstrumentedOs::step(Step step) noexcept {
  const StepRow& row = row_of(step);
  PendingCall going{.name = row.name};
  if (interceptor_.counts()) {
    going.k = names_.count(row.name, {});
  }
  interceptor_.before(going);
  [[maybe_unused]] const int ignored = fiu_fail(row.point);
  inner_.step(step);
  interceptor_.after(going, {});
}

void InstrumentedOs::touch(const os::WordAccess& access) noexcept {
  step(access.step);
  // No other thread runs between this and the access.
  inner_.touch(access);
}

Status InstrumentedOs::close(os::Fd fd) noexcept {
  const auto act = [&] {
    interceptor_.closes(fd);
    names_.close(fd);
    return inner_.close(fd);
  };
  PendingCall going = begin_call(Call::close, of(fd));
  const int error = failure_at(Call::close, interceptor_.before(going));
  // On Linux the descriptor is closed whatever close(2) returns, so an injected failure closes as
  // well.
  Status answer = act();
  if (error != 0) {
    answer = injected(Call::close, error, of(fd));
  }
  interceptor_.after(
      going, {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = error != 0});
  return answer;
}

template <typename Act>
Status InstrumentedOs::move(Call call, const os::PathAt& from, const os::PathAt& to, Act act) {
  const std::string old_path = names_.path_of(from);
  const std::string path = names_.path_of(to);
  return cross(call, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    Status moved = act();
    if (moved) {
      names_.move(old_path, path);
    }
    return moved;
  });
}

Status InstrumentedOs::rename(const os::PathAt& from, const os::PathAt& to) noexcept {
  return move(Call::rename, from, to, [&] { return inner_.rename(from, to); });
}

Status InstrumentedOs::rename_new(const os::PathAt& from, const os::PathAt& to) noexcept {
  return move(Call::rename_new, from, to, [&] { return inner_.rename_new(from, to); });
}

Result<os::Buffer> InstrumentedOs::map(const os::MapOptions& options) noexcept {
  const Subject subject =
      options.file == os::Fd::none ? Subject{.object = "anonymous"} : of(options.file);
  return cross(Call::map, subject, [&](auto&, auto&) {
    auto mapped = inner_.map(options);
    if (mapped) {
      names_.map(*mapped, subject.object);
    }
    return mapped;
  });
}

Status InstrumentedOs::unmap(os::Buffer mapped) noexcept {
  return cross(Call::unmap, {.object = names_.name_of(os::Bytes(mapped))}, [&](auto&, auto&) {
    Status unmapped = inner_.unmap(mapped);
    if (unmapped) {
      names_.unmap(mapped);
    }
    return unmapped;
  });
}

}  // namespace lastref::harness
