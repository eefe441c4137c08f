#include "harness/cli/run_options.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

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
                          names_of_faults(FaultWhere::watched) +
                          ". Or of the whole run: 'limit nofile=4', as --limit has it, or 'private "
                          "/dev/shm=4k', a folder that is soon full"),
      "TEXT");
  repeatable(verb.add_option("--also",
                             options.also,
                             "A call that is watched only on request, such as write; may be "
                             "repeated"),
             "CALL");
  verb.add_flag("--unlikely",
                options.unlikely,
                "Also inject errors that no kernel returns for such a call on such a file");
  repeatable(
      verb.add_option("--private",
                      options.private_folders,
                      "A private folder, empty: /dev/shm; or /tmp=64k, which "
                      "is full after that many bytes, or /tmp=64k,10, also after that many "
                      "names; or /srv/data=overlay, with its present contents, where changes "
                      "are dropped at the end; or ipc, an IPC namespace; or pid, a pid "
                      "namespace with its /proc; may be repeated"),
      "FOLDER");
  repeatable(
      verb.add_option("--limit",
                      options.limits,
                      "A limit of each of its processes, such as nofile=64 or fsize=1m; may be "
                      "repeated"),
      "NAME=N");
  verb.add_option("--setup", options.setup, "Shell command that is run before each run")
      ->type_name("COMMAND");
}

/// Options for a server.
void add_work(CLI::App& verb, RunVerbOptions& options) {
  verb.add_option("--ready",
                  options.ready,
                  "Shell command that fails until the program, a server, is ready")
      ->type_name("COMMAND");
  CLI::Option* work =
      verb.add_option("--work",
                      options.work,
                      "Shell command that sends a server its work when it is ready. Afterwards the "
                      "server gets SIGTERM")
          ->type_name("COMMAND");
  verb.add_option("--rounds",
                  options.rounds,
                  "How often --work is run; from 8 on, resources that grow in each round are a "
                  "finding")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->needs(work);
}

/// The expectations.
void add_judges(CLI::App& verb, RunVerbOptions& options) {
  repeatable(verb.add_option("--allow", options.allowed, "Names that may remain; may be repeated"),
             "GLOB");
  repeatable(verb.add_option(
                 "--open", options.open, "Names that other users may write to; may be repeated"),
             "GLOB");
  verb.add_option(
          "--check",
          options.check,
          "Shell command that is run afterwards; if it fails, its output is a finding. Like "
          "--recover it gets LASTREF_EXIT, the exit code of the program, and LASTREF_FAULT, "
          "the faults")
      ->type_name("COMMAND");
  verb.add_option("--recover",
                  options.recover,
                  "Shell command that may remove leftovers, as a next start does")
      ->type_name("COMMAND");
  verb.add_option("--on-hang",
                  options.on_hang,
                  "Shell command that is run at a hang, before the processes are killed, such as a "
                  "debugger: its output is in the report. It gets LASTREF_PIDS, their numbers")
      ->type_name("COMMAND");
  repeatable(
      verb.add_option("--same",
                      options.same,
                      "A file that must have this content after exit 0; without the content, "
                      "the JSON report has it, and --sweep takes that of a run without "
                      "faults. Not given: --sweep takes each file that such a run leaves"),
      "FILE[=CONTENT]");
  repeatable(
      verb.add_option("--expect-exit",
                      options.expected_exits,
                      "Exit code that is expected; 128+N for signal N; may be repeated. Not given: "
                      "0, and with faults any except a crash"),
      "CODE")
      ->check(CLI::Range(0, 255));
  verb.add_flag("--strict",
                options.strict,
                "Exit with 3 instead of 0 if not all was seen: with a line NOT SEEN or REFUSED");
  as_seconds(
      verb.add_option("--grace",
                      options.grace,
                      "Seconds that its other processes may run after the first one has ended"))
      ->capture_default_str();
  as_seconds(
      verb.add_option("--timeout",
                      options.timeout,
                      "Seconds that it may take. Not given: no limit while one of its threads "
                      "continues, or may be woken by another process"));
  verb.add_option(
          "--slowdown",
          options.slowdown,
          "It may take this many times as long as a run without faults, which is made first; "
          "but at least a second")
      ->check(above_zero())
      ->excludes("--timeout");
}

CLI::Option* add_sweep(CLI::App& verb, RunVerbOptions& options) {
  CLI::Option* sweep = verb.add_flag(
      "--sweep",
      options.sweep,
      "Run it without faults, then once with each of the faults that matter: errors, kills and "
      "signals at calls on names in its working folder, /tmp, /var/tmp and /dev/shm, on pipes and "
      "sockets, and at starts of processes. Each run has private copies of these folders, unless "
      "--private is given. What a run without faults leaves may remain, and must be the "
      "same after exit 0");
  as_seconds(verb.add_option("--budget", options.budget, "Seconds of a sweep or a suite at most"));
  CLI::Option* part = add_shard(verb, options.shard, "Try only this part of the faults");
  verb.add_option("--costs",
                  options.costs,
                  "Divide the faults so that the parts take the same time: a fault takes as long "
                  "as in this folder, which a sweep wrote with --output. Each part needs "
                  "the same folder")
      ->type_name("FOLDER")
      ->needs(part);
  CLI::Option* sample =
      verb.add_option("--sample",
                      options.sample,
                      "Try only so many of the faults of a program, drawn at random; each call "
                      "has one of them before any has two")
          ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  verb.add_option("--seed", options.seed, "Seed of --sample")
      ->check(whole_number())
      ->capture_default_str()
      ->needs(sample);
  verb.add_option("--output",
                  options.output,
                  "New folder for the list of all faults, the outcome of each, and the output of "
                  "runs with a finding; lastref merge reads it")
      ->type_name("FOLDER");
  verb.add_option("--resume",
                  options.resume,
                  "Continue the sweep or suite that wrote this folder with --output: a fault with "
                  "an outcome is not tried again")
      ->type_name("FOLDER")
      ->excludes("--output");
  verb.add_flag("--first", options.first, "End with the first finding");
  return sweep;
}

/// A suite has the other options of its stories in a file.
void add_suite(CLI::App& verb, RunVerbOptions& options) {
  CLI::Option* suite = verb.add_option("--suite",
                                       options.suite,
                                       "Sweep each program of this file, in its folder. Findings "
                                       "that the file lists as known are no violation");
  suite->type_name("FILE");
  const std::vector<std::string> permitted = {"--help",
                                              "--budget",
                                              "--shard",
                                              "--costs",
                                              "--sample",
                                              "--seed",
                                              "--output",
                                              "--resume",
                                              "--first"};
  for (CLI::Option* each : verb.get_options()) {
    if (each != suite && std::ranges::find(permitted, each->get_name()) == permitted.end()) {
      suite->excludes(each);
    }
  }
  verb.add_option("--story", options.story, "Only the programs of the suite with matching names")
      ->type_name("GLOB")
      ->needs(suite);
}

}  // namespace

bool is_of_story(const CLI::App& run, const std::string& name) {
  const CLI::Option* const option = run.get_option_no_throw("--" + name);
  const CLI::Option* const sweep = run.get_option("--sweep");
  if (option == nullptr || name == "budget") {
    return true;
  }
  // A story is a sweep; an option that a whole suite may have is not its own.
  const std::set<CLI::Option*> others = option->get_excludes();
  const auto excludes = [&](const CLI::Option* other) {
    return std::ranges::find(others, other) != others.end();
  };
  return option != sweep && name != "list" && !excludes(sweep) &&
         excludes(run.get_option("--suite"));
}

CLI::App* add_run(CLI::App& app, RunVerbOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "run",
      "Runs any program, injects faults into its system calls, and reports leftovers: files, "
      "processes and others. Exit 1 if something remains, hangs, crashes, or is not as expected, 2 "
      "if the program itself fails, 3 if a fault is not injected");
  CLI::Option* doctor = verb->add_flag(
      "--doctor", options.doctor, "Only check what works on this machine, and what is unavailable");
  CLI::Option* calls =
      verb->add_flag("--calls",
                     options.calls,
                     "Only list the calls that faults can be injected at, and their errors");
  verb->add_option("command", options.command, "The program and its arguments, after --");
  add_world(*verb, options);
  add_work(*verb, options);
  add_judges(*verb, options);
  verb->add_flag("--list",
                 options.list,
                 "Print its processes and every call that was seen; with --sweep, the faults that "
                 "it would try");
  CLI::Option* sweep = add_sweep(*verb, options);
  CLI::Option* repeat =
      verb->add_option("--repeat", options.repeat, "Number of runs, unless one has a finding")
          ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
          ->capture_default_str();
  CLI::Option* trace = verb->add_option(
      "--trace",
      options.files.trace,
      "Its processes, threads and calls as a Chrome trace, for viewers such as Perfetto; - is "
      "standard output");
  trace->type_name("FILE");
  for (CLI::Option* each : {verb->get_option("--fault"), repeat, trace}) {
    sweep->excludes(each);
  }
  add_suite(*verb, options);
  add_report_files(*verb, options.files);
  // Sweeps use it, too: they make the page of all their runs.
  verb->add_flag("--timeline",
                 options.timeline,
                 "The JSON report has the calls in their order, with the faults injected at them");
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
