#include "harness/cli/run_options.hpp"

#include "harness/cli/option_kinds.hpp"
#include "harness/scenario/fault_text.hpp"

namespace lastref::harness {
namespace {

/// Faults in the program, and the world in which it runs.
void add_world(CLI::App& verb, RunVerbOptions& options) {
  repeatable(
      verb.add_option("--fault",
                      options.faults,
                      "A fault, such as 'child.1/openat(/dev/shm/*)#3 fail_once ENOSPC', or in "
                      "the syntax of strace; may be repeated. #3-5 are three calls, #3- all "
                      "from the third on. Kinds: " +
                          names_of_faults(FaultWhere::watched)),
      "TEXT");
  repeatable(verb.add_option("--also",
                             options.also,
                             "A call that is watched only if it is asked for, as write; may be "
                             "repeated"),
             "CALL");
  verb.add_flag("--unlikely",
                options.unlikely,
                "Errors that no kernel gives for such a call, at such a place, strike as well");
  repeatable(verb.add_option("--private",
                             options.private_folders,
                             "A folder that it has for itself, empty: /dev/shm; or /tmp=64k, which "
                             "is full after so many bytes, or /tmp=64k,10 after so many names, "
                             "too; or /srv/data=overlay, with what is in it, where no change "
                             "lasts; or ipc, an IPC namespace; or pid, a pid namespace with "
                             "its /proc; may be repeated"),
             "FOLDER");
  repeatable(verb.add_option("--limit",
                             options.limits,
                             "A limit of each of its processes, as nofile=64 or fsize=1m; may be "
                             "repeated"),
             "NAME=N");
  verb.add_option("--setup", options.setup, "A shell's command that is run before, each time")
      ->type_name("COMMAND");
}

/// Options for a server.
void add_work(CLI::App& verb, RunVerbOptions& options) {
  verb.add_option("--ready",
                  options.ready,
                  "A shell's command that fails until the program, a server, is ready")
      ->type_name("COMMAND");
  CLI::Option* work =
      verb.add_option("--work",
                      options.work,
                      "A shell's command that gives a server its work when it is ready. Then the "
                      "server is told to end by SIGTERM")
          ->type_name("COMMAND");
  verb.add_option("--rounds",
                  options.rounds,
                  "How often it gets its work; from 8 on, what it has more of after each round is "
                  "found")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->needs(work);
}

/// The expectations.
void add_judges(CLI::App& verb, RunVerbOptions& options) {
  repeatable(verb.add_option("--allow", options.allowed, "Names that may stay; may be repeated"),
             "GLOB");
  repeatable(
      verb.add_option("--open", options.open, "Names that anybody may write to; may be repeated"),
      "GLOB");
  verb.add_option("--check",
                  options.check,
                  "A shell's command that is run afterwards; if it fails, what it says is found")
      ->type_name("COMMAND");
  verb.add_option("--recover",
                  options.recover,
                  "A shell's command that may remove what was left behind, as a next start does")
      ->type_name("COMMAND");
  repeatable(verb.add_option("--expect-exit",
                             options.expected_exits,
                             "How it may end, 128+N by signal N; may be repeated. Not given: "
                             "0, and with faults anything but a crash"),
             "CODE")
      ->check(CLI::Range(0, 255));
  verb.add_option("--grace",
                  options.grace,
                  "Seconds that its other processes may live after the first one has ended")
      ->check(above_zero())
      ->capture_default_str();
  verb.add_option("--timeout",
                  options.timeout,
                  "Seconds that it may take. Not given: as long as one of its threads goes on, or "
                  "may hear from somebody else")
      ->check(above_zero());
  verb.add_option("--slowdown",
                  options.slowdown,
                  "It may take so many times as long as a run without faults, which is made first; "
                  "and a second at least")
      ->check(above_zero())
      ->excludes("--timeout");
}

}  // namespace

CLI::App* add_run(CLI::App& app, RunVerbOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "run",
      "Any program, watched from outside: which names its processes make and leave behind, with "
      "faults at its system calls. Exit 1 if something stays, hangs, crashes, or is not as it was "
      "asked for, 2 if the program itself fails, 3 if a fault does not strike");
  CLI::Option* doctor = verb->add_flag(
      "--doctor", options.doctor, "Only try what works on this machine, and say what is lost");
  CLI::Option* calls = verb->add_flag(
      "--calls", options.calls, "Only list the calls that faults can be at, and their errors");
  verb->add_option("command", options.command, "The program and its arguments, behind --");
  add_world(*verb, options);
  add_work(*verb, options);
  add_judges(*verb, options);
  verb->add_flag("--list", options.list, "Print its processes and every call that was seen");
  verb->add_option("--repeat", options.repeat, "How often it is run, until something is wrong")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  verb->add_option("--json", options.json, "Report for programs, as JSON; - is standard output")
      ->type_name("FILE");
  for (CLI::Option* each : verb->get_options()) {
    if (each != doctor && each != calls && each->get_name() != "--help") {
      doctor->excludes(each);
      calls->excludes(each);
    }
  }
  doctor->excludes(calls);
  return verb;
}

}  // namespace lastref::harness
