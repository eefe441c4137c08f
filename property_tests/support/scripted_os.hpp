// ScriptedOs: the kernel, with a hook that is called before each call and may fail or shorten it.
//
// Files, folders, sockets, names and memory are real. What belongs to a process is simulated: its
// clock, its environment and its standard error. The hook and the rest come from the derived
// classes: DirectedOs, which is a single process, and PretendProcess, which is one of several in a
// test.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lastref/kernel_os.hpp>

#include "harness/instrument/call_object.hpp"
#include "harness/instrument/every_call.hpp"

namespace lastref::pretend {

/// One call, and its subject: a path, a name, or nothing.
struct Crossing {
  Call call = Call::none;
  std::string subject;

  bool operator==(const Crossing&) const = default;
};
void PrintTo(const Crossing& crossing, std::ostream* out);

enum class Fate : std::uint8_t {
  pass,
  fail,        ///< Not made; `close` is.
  shorten,     ///< Made with some of the bytes, at least one.
  die_before,  ///< Not made, and none after it.
  die_midway,  ///< Made with some of the bytes, and none after it.
  die_after,   ///< Made, and none after it.
};

struct Decision {
  Fate fate = Fate::pass;
  std::errc code = std::errc::io_error;
  std::size_t bytes = 0;  ///< How many of them `shorten` and `die_midway` let pass; 0 is half.

  /// How many of `size` bytes pass.
  std::size_t passed(std::size_t size) const;
};

class ScriptedOs : public harness::EveryCall<ScriptedOs> {
 public:
  std::map<std::string, std::string> variables;
  /// Maps the start of a path to its real location.
  std::map<std::string, std::string> mounts;
  std::vector<Crossing> crossings;
  std::string said;  ///< On standard error.
  os::Instant clock{0};

  std::size_t count_of(Call call) const;
  std::string real(const std::string& path) const;

  /// Every call that is not overridden below.
  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&... given) noexcept {
    if constexpr (harness::can_fail<call>) {
      return cross(call, harness::object_of_call(given...), [&](const Decision& decision) {
        [[maybe_unused]] const auto taken = [&](std::size_t size) { return decision.passed(size); };
        return harness::CallOf<call>::make(kernel_,
                                           real_of(harness::part_of<call>(given, taken))...);
      });
    } else {
      return harness::CallOf<call>::make(kernel_, given...);
    }
  }

  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override;
  os::Instant now() noexcept override { return clock; }
  /// With the kind that Os has by default, too.
  Result<std::unique_ptr<os::Thread>> start_thread(
      std::function<void()> body, os::ThreadKind kind = os::ThreadKind::ours) noexcept override {
    return every<Call::start_thread>(std::move(body), kind);
  }
  std::optional<std::string> environment(const std::string& name) noexcept override;
  std::unique_ptr<os::Monitor> make_monitor() noexcept override { return kernel_.make_monitor(); }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override {
    return kernel_.at_exit(std::move(action));
  }
  os::ProcessObjects& objects() noexcept override { return kernel_.objects(); }
  void hide_from_children(std::span<const os::Fd> fds,
                          const std::string& variable) noexcept override {
    kernel_.hide_from_children(fds, variable);
  }

 protected:
  /// The Os below, which is the same process as this one.
  class Kernel final : public os::KernelOs {
   public:
    explicit Kernel(ScriptedOs& os) noexcept : os_(os) {}
    std::uint64_t process_token() noexcept override { return os_.process_token(); }

   private:
    ScriptedOs& os_;
  };

  /// Called before a call.
  virtual Decision decide(const Crossing& crossing) = 0;
  /// Called after a call that was made as decided. False if its result is discarded.
  virtual bool arrives(const Crossing& crossing, const Decision& decision) = 0;
  /// Called with each new descriptor.
  virtual void opened(os::Fd) {}

  template <typename Make>
  auto cross(Call call, const harness::CallObject& object, Make make)
      -> decltype(make(std::declval<const Decision&>())) {
    const Crossing crossing{.call = call, .subject = std::string(object.path().value_or(""))};
    const Decision decision = decide(crossing);
    if (decision.fate == Fate::fail) {
      return failure(decision.code, crossing.subject, call);
    }
    auto made = make(decision);
    note(made);
    if (!arrives(crossing, decision)) {
      return failure(decision.code, crossing.subject, call);
    }
    return made;
  }

  mutable std::recursive_mutex guard_;  ///< Of the records; recursive: the hook may make calls.
  Kernel kernel_{*this};

 private:
  os::PathAt real_of(const os::PathAt& where) const { return {where.folder, real(where.path)}; }
  std::string real_of(const std::string& path) const { return real(path); }
  template <typename Other>
  const Other& real_of(const Other& given) const {
    return given;
  }

  void note(const Result<os::Fd>& made);
  void note(const Result<os::PipeEnds>& made);
  template <typename Other>
  void note(const Other&) {}
};

}  // namespace lastref::pretend
