// InstrumentedOs: an Os that wraps another, with an interceptor and a failure point at every call.
//
// One call is: interceptor before -> failure point -> the inner call -> interceptor after. The
// point fails with the errno that the interceptor has decided, or else with the number that libfiu
// returns. Then the inner call is not made, except for close, which still closes. Only `arm`
// enables a point in libfiu's table, for one crossing, and the table's probabilities are never
// used. FdNames names the object of a crossing; names must not differ between two runs of the same
// plan.
//
// This class keeps what `at_exit` registers, because processes of a run do not end through exit(3):
// code that ends a process in an orderly way calls run_exit_hooks.
//
// With an interceptor that serialises, `poll` never waits in the kernel: it polls with timeout 0,
// and waits in the interceptor. The interceptor also provides threads, monitors, clock and entropy,
// and there are two processors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

#include "harness/instrument/call_object.hpp"
#include "harness/instrument/every_call.hpp"
#include "harness/instrument/fd_names.hpp"
#include "harness/instrument/interceptor.hpp"
#include "harness/journal/record.hpp"
#include "impl/os/kernel_os_exit.hpp"
#include "impl/os/limits.hpp"

namespace lastref::harness {

class InstrumentedOs final : public EveryCall<InstrumentedOs>, public os::LimitedOs {
 public:
  /// All outlive it.
  InstrumentedOs(os::Os& inner,
                 Interceptor& interceptor,
                 const os::Limits& limits = os::usual_limits) noexcept;
  InstrumentedOs(const InstrumentedOs&) = delete;
  InstrumentedOs& operator=(const InstrumentedOs&) = delete;
  ~InstrumentedOs() override;

  /// A descriptor that the process inherited.
  void adopt(os::Fd fd, std::string_view name);
  /// Descriptors that were opened or adopted and not closed; maps that were not unmapped; and
  /// children that cannot be reaped any more.
  std::vector<std::string> still_open();
  /// bytes of maps that were not unmapped
  std::uint64_t mapped() { return names_.mapped(); }
  /// bytes of the heap that grow with the calls and are not the product's
  std::uint64_t own_memory() const noexcept { return names_.memory(); }

  /// Does what exit(3) would do with the registrations of `at_exit`.
  void run_exit_hooks();

  /// The next crossing of `call` by this program fails with `error`, whatever the interceptor
  /// decides.
  static void arm(Call call, int error);

  /// Every call without an override below.
  template <Call call, typename... Given>
  AnswerOf<call> every(Given&&... given) noexcept;

  // Calls that notify the interceptor, or name what is opened, moved or closed.
  Status close(os::Fd fd) noexcept override;
  Status rename(const os::PathAt& from, const os::PathAt& to) noexcept override;
  Status rename_new(const os::PathAt& from, const os::PathAt& to) noexcept override;
  Result<os::Buffer> map(const os::MapOptions& options) noexcept override;
  Status unmap(os::Buffer mapped) noexcept override;
  Result<os::Fd> make_socket() noexcept override;
  Status bind(os::Fd socket, const std::string& path) noexcept override;
  Result<os::Fd> accept(os::Fd socket) noexcept override;
  Status connect(os::Fd socket, const std::string& path) noexcept override;
  Result<os::Received> receive(os::Fd socket, os::Buffer into) noexcept override;
  Result<os::PipeEnds> make_pipe() noexcept override;
  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  Result<os::Fd> open_process(os::Pid pid) noexcept override;
  Result<std::optional<os::ChildExit>> wait_child(os::Fd process) noexcept override;
  Status signal_process(os::Fd process, os::Signal signal) noexcept override;

  // The interceptor handles these if it serialises.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  Result<std::unique_ptr<os::Thread>> start_thread(std::function<void()> body,
                                                   os::ThreadKind kind) noexcept override;
  unsigned processors() noexcept override;
  os::Instant now() noexcept override;
  Status entropy(os::Buffer into) noexcept override;

  void hide_from_children(std::span<const os::Fd> fds,
                          const std::string& variable) noexcept override {
    inner_.hide_from_children(fds, variable);
  }
  std::uint64_t process_token() noexcept override;
  std::unique_ptr<os::Monitor> make_monitor() noexcept override;
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override;
  os::ProcessObjects& objects() noexcept override;
  void step(Step step) noexcept override;
  void touch(const os::WordAccess& access) noexcept override;
  void access_atomic(const void* object, bool writes) noexcept override;
  void hit(Probe probe) noexcept override { interceptor_.hit(probe); }
  const os::Limits& limits() const noexcept override { return limits_; }

 private:
  /// The object of a crossing.
  struct Subject {
    std::string_view object = {};
    std::string_view text = {};
    std::int64_t value = 0;
  };

  PendingCall begin_call(Call call, const Subject& subject);
  /// The errno that this crossing fails with, or 0.
  static int failure_at(Call call, const Injection& injection) noexcept;
  static tl::unexpected<Error> injected(Call call, int error, const Subject& subject);

  /// One crossing. `act` gets the PendingCall and the Injection, and returns the Result of the
  /// inner call.
  template <typename Act>
  auto cross(Call call, const Subject& subject, Act act) noexcept;
  /// One crossing that cannot fail, and at which no other thread is offered the turn.
  template <typename Act>
  auto cross_surely(Call call, std::string_view object, Act act) noexcept;
  /// A rename: the moved objects are known by their new paths afterwards.
  template <typename Act>
  Status move(Call call, const os::PathAt& from, const os::PathAt& to, Act act);
  /// A removal. If ENOENT is injected, it removes the name first, as another process would:
  /// otherwise that error would not be true.
  template <typename Act>
  Status remove(Call call, const Subject& subject, Act act) noexcept;
  static std::string_view name_of(os::Signal signal) noexcept;
  Subject of(os::Fd fd);
  /// The object of a call; a path or name is stored in `path`.
  Subject of(const CallObject& object, std::string& path);

  os::Os& inner_;
  Interceptor& interceptor_;
  const os::Limits& limits_;
  /// By the order of first use: addresses differ between runs.
  std::uint64_t number_of(const void* atomic) noexcept;

  FdNames names_;
  std::uint64_t thread_objects_ = 0;  ///< Monitors and atomics that have a number
  std::map<const void*, std::uint64_t> atomics_;
  os::ExitHooks exit_hooks_;
  os::GenerationsOfObjects objects_;
};

template <typename Act>
auto InstrumentedOs::cross(Call call, const Subject& subject, Act act) noexcept {
  using Answer = decltype(act(std::declval<PendingCall&>(), std::declval<const Injection&>()));
  PendingCall going = begin_call(call, subject);
  const Injection injection = interceptor_.before(going);
  const int error = failure_at(call, injection);
  Answer answer = error == 0 ? act(going, injection) : Answer(injected(call, error, subject));
  interceptor_.after(
      going, {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = error != 0});
  return answer;
}

template <typename Act>
auto InstrumentedOs::cross_surely(Call call, std::string_view object, Act act) noexcept {
  PendingCall going = begin_call(call, {.object = object});
  going.asks = false;
  interceptor_.before(going);
  // Calls that cannot fail have no errno, but reach the point as well.
  failure_at(call, {});
  auto answer = act();
  interceptor_.after(going, {});
  return answer;
}

template <typename Act>
Status InstrumentedOs::remove(Call call, const Subject& subject, Act act) noexcept {
  PendingCall going = begin_call(call, subject);
  const int error = failure_at(call, interceptor_.before(going));
  Status answer = ok();
  if (error == 0 || static_cast<std::errc>(error) == std::errc::no_such_file_or_directory) {
    answer = act();
  }
  const bool fails = error != 0 && answer.has_value();
  if (fails) {
    answer = injected(call, error, subject);
  }
  interceptor_.after(
      going, {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = fails});
  return answer;
}

template <Call call, typename... Given>
AnswerOf<call> InstrumentedOs::every(Given&&... given) noexcept {
  std::string path;
  const Subject subject = of(object_of_call(given...), path);
  if constexpr (!can_fail<call>) {
    return cross_surely(call, subject.object, [&] { return CallOf<call>::make(inner_, given...); });
  } else if constexpr (is_removal(call)) {
    return remove(call, subject, [&] { return CallOf<call>::make(inner_, given...); });
  } else {
    return cross(call, subject, [&](auto&, const Injection& injection) {
      [[maybe_unused]] const auto taken = [&](std::size_t size) {
        return injection.shorten && size > 1 ? size / 2 : size;
      };
      auto answer = CallOf<call>::make(inner_, part_of<call>(given, taken)...);
      if constexpr (std::is_same_v<AnswerOf<call>, Result<os::Fd>>) {
        if (answer) {
          names_.open(*answer, subject.object, subject.text);
        }
      }
      return answer;
    });
  }
}

}  // namespace lastref::harness
