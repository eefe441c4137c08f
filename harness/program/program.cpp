#include "harness/program/program.hpp"

#include <array>
#include <utility>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

namespace lastref::harness {

Result<std::optional<int>> run_program(const std::string& path,
                                       std::vector<std::string> arguments) {
  LASTREF_ASSERT(!arguments.empty());
  os::KernelOs os({.program = path});
  os::SpawnOptions spawn;
  spawn.entry = arguments.front();
  arguments.erase(arguments.begin());
  spawn.arguments = std::move(arguments);
  LASTREF_TRY(child, os.spawn(spawn));
  const os::UniqueFd process(os, child.process);
  for (;;) {
    std::array items = {os::PollItem{.fd = process.get(), .want_read = true}};
    LASTREF_TRY(ready, os::retry_interrupted([&] { return os.poll(items, std::nullopt); }));
    static_cast<void>(ready);
    LASTREF_TRY(ended, os.wait_child(process.get()));
    if (ended) {
      return ended->killed ? std::nullopt : std::optional(ended->code);
    }
  }
}

Result<std::optional<int>> run_command(const std::string& folder,
                                       const std::string& command,
                                       const std::string& log,
                                       int seconds) {
  // The arguments of the caller stay arguments: the shell sees them as its arguments alone. Where
  // there is setpriv, the command does not outlive us, who may be killed while it takes minutes.
  constexpr const char* script =
      R"(cd -- "$1" && exec $(command -v setpriv >/dev/null && echo setpriv --pdeathsig TERM) )"
      R"(timeout --kill-after=5 "$4" sh -c "$2" >"$3" 2>&1 </dev/null)";
  return run_program("/bin/sh",
                     {"-c", script, "sh", folder, command, log, std::to_string(seconds)});
}

}  // namespace lastref::harness
