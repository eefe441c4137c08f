// RunMember: a process of a run, as its Stage and its Os use the run: signals between roles,
// effects on other roles, and records.
//
// In a gated run it is a SerialInterceptor, and each of these is a turn. In an ungated run it is an
// UngatedMember, which acts at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/kernel/control_block.hpp"

namespace lastref::harness {

struct RunContext;

class RunMember {
 public:
  RunMember(const RunMember&) = delete;
  RunMember& operator=(const RunMember&) = delete;
  virtual ~RunMember() = default;

  SharedRun& run() const noexcept { return run_; }
  std::uint16_t process() const noexcept { return process_; }
  std::string_view role() const noexcept {
    return run_.control_block().processes[process_].role.view();
  }

  // As in the Stage.
  virtual void tell(std::string_view signal) noexcept = 0;
  virtual bool await(std::string_view signal) noexcept = 0;
  virtual void send(std::string_view signal, std::string_view bytes) noexcept = 0;
  virtual std::optional<std::string> receive(std::string_view signal) noexcept = 0;
  virtual void stop(std::string_view role) = 0;
  virtual bool resume(std::string_view role) = 0;
  virtual void kill(std::string_view role) = 0;
  virtual void interrupt_all() = 0;
  virtual std::size_t processes(std::string_view role) = 0;
  /// `body` includes the end of the copy as a role.
  virtual bool fork_stranger(RunContext& context, const std::function<void()>& body) = 0;

  virtual void note(std::string_view operation,
                    std::string_view text,
                    bool begins,
                    int error) noexcept = 0;
  virtual void fact(std::string_view name,
                    std::string_view text,
                    std::string_view object) noexcept = 0;

 protected:
  RunMember(SharedRun& run, std::uint16_t process) noexcept : run_(run), process_(process) {}

  void set_process(std::uint16_t process) noexcept { process_ = process; }

 private:
  SharedRun& run_;
  std::uint16_t process_;
};

}  // namespace lastref::harness
