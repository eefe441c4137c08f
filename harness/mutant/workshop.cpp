#include "harness/mutant/workshop.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/explore/jobs.hpp"
#include "harness/program/program.hpp"
#include "harness/report/report.hpp"
#include "harness/spec/rows.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* patches = "fault_scenarios/mutants/";
constexpr int patience_for_builds = 3600;  // seconds
constexpr int patience_for_tests = 900;
constexpr int patience_beyond_budget = 120;
constexpr int out_of_time = 124;  // timeout(1)
/// Made anew by whoever needs them, and never copied.
constexpr std::array<std::string_view, 2> not_copied = {"build", ".git"};

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// All files below `root`, as paths from there.
std::set<std::string> files_below(const fs::path& root, std::error_code& error) {
  std::set<std::string> files;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().lexically_relative(root);
    if (at.depth() == 0 && std::ranges::find(not_copied, path) != not_copied.end()) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(error)) {
      files.insert(path);
    }
  }
  return files;
}

/// The command cannot tell its own failure from that of a process that it started.
Error said_no(std::string_view what, const std::string& log) {
  return {.code = std::errc::protocol_error,
          .call = Call::none,
          .subject = fmt::format("{}; see {}", what, log),
          .injected = false};
}

}  // namespace

Workshop::Workshop(WorkshopOptions options)
    : options_(std::move(options)), os_(std::make_unique<os::KernelOs>()) {}

Result<Workshop> Workshop::open(WorkshopOptions options) {
  std::error_code error;
  fs::create_directories(options.folder + "/tree", error);
  if (error) {
    return failure(static_cast<std::errc>(error.value()), options.folder);
  }
  Workshop workshop(std::move(options));
  const std::string path = workshop.options_.folder + "/lock";
  std::ofstream(path, std::ios::app).flush();
  LASTREF_TRY(fd, workshop.os_->open(path, {.write = true}));
  workshop.lock_ = os::UniqueFd(*workshop.os_, fd);
  LASTREF_CHECK(workshop.os_->lock_range(fd, {.kind = os::LockKind::exclusive}));
  return workshop;
}

Result<std::optional<int>> Workshop::say(const std::string& command,
                                         const std::string& log,
                                         int seconds) {
  return run_command(tree(), command, log, seconds);
}

/// A file is written only if it differs: its time decides what is compiled again, so it must not
/// become older than an object that was made of another text.
Status Workshop::match_checkout() {
  std::error_code error;
  const std::set<std::string> wanted = files_below(options_.checkout, error);
  const std::set<std::string> present = files_below(tree(), error);
  for (const std::string& file : wanted) {
    const fs::path from = fs::path(options_.checkout) / file;
    const fs::path to = fs::path(tree()) / file;
    const std::string text = text_of(from);
    if (present.contains(file) && text == text_of(to)) {
      continue;
    }
    fs::create_directories(to.parent_path(), error);
    std::ofstream stream(to, std::ios::binary | std::ios::trunc);
    stream << text << std::flush;
    if (!stream) {
      return failure(std::errc::io_error, to);
    }
    fs::permissions(to, fs::status(from, error).permissions(), error);
  }
  for (const std::string& file : present) {
    if (!wanted.contains(file)) {
      fs::remove(fs::path(tree()) / file, error);
    }
  }
  return error ? failure(static_cast<std::errc>(error.value()), tree()) : ok();
}

Status Workshop::build(const std::string& log) {
  // Configuring anew takes a third of a second, and sees new files.
  LASTREF_TRY(code, say("cmake --preset ci && ninja -C build/ci", log, patience_for_builds));
  return code == 0 ? ok() : tl::unexpected(said_no("it does not build", log));
}

Status Workshop::prepare() {
  LASTREF_CHECK(match_checkout());
  return build(options_.folder + "/build.log");
}

Status Workshop::patch(const Mutant& mutant, const std::string& how) {
  const std::string log = options_.folder + "/" + mutant.name + ".patch.log";
  // Without the ceiling, git would take the paths from the checkout around the copy.
  const std::string command =
      fmt::format(R"-(GIT_CEILING_DIRECTORIES="$(dirname "$PWD")" git apply {} {}{})-",
                  how,
                  patches,
                  path_of(mutant));
  LASTREF_TRY(code, say(command, log, patience_for_tests));
  if (code != 0) {
    return tl::unexpected(said_no(mutant.name + " does not fit", log));
  }
  std::error_code error;
  fs::remove(log, error);
  return ok();
}

Status Workshop::check(std::span<const Mutant> mutants) {
  LASTREF_CHECK(match_checkout());
  for (const Mutant& mutant : mutants) {
    LASTREF_CHECK(patch(mutant, "--check"));
  }
  return ok();
}

Result<Trial> Workshop::try_gate(const std::string& row, const std::string& log) {
  const std::string json = log + ".json";
  const std::string command =
      fmt::format(R"(build/ci/bin/lastref gate --first {} --budget {} --seed {} --json ../{}.json)",
                  row.empty() ? "" : "--row " + row,
                  options_.budget,
                  options_.seed,
                  fs::path(log).filename().string());
  std::error_code error;
  fs::remove(json, error);
  const int seconds = static_cast<int>(options_.budget) + patience_beyond_budget;
  LASTREF_TRY(code, say(command, log + ".gate.txt", seconds));
  Trial trial;
  if (code && (Exit(*code) == Exit::clean || Exit(*code) == Exit::incomplete)) {
    return trial;
  }
  if (auto reported = trial_of_gate(text_of(json))) {
    return *std::move(reported);
  }
  if (code == 2 && text_of(log + ".gate.txt").find("no scenario matches") != std::string::npos) {
    return trial;  // Tests alone are in charge of the row.
  }
  if (code == 2) {
    return tl::unexpected(said_no("the gate cannot run", log + ".gate.txt"));
  }
  trial.found = true;
  trial.claim = code == out_of_time ? "the gate itself came to no end" : "the gate itself died";
  return trial;
}

Result<Trial> Workshop::try_tests(const std::string& row, const std::string& log) {
  const std::string chosen =
      row.empty() ? "-LE 'lint|package|bench'" : fmt::format("-R '{}'", pattern_of_tests(row));
  const std::string said = log + ".tests.txt";
  LASTREF_TRY(code, say("ctest --preset ci " + chosen, said, patience_for_tests));
  const std::vector<std::string> failed = failed_tests(text_of(said));
  Trial trial;
  trial.found = !failed.empty() || code == out_of_time;
  trial.failed_tests = failed.size();
  trial.claim = code == out_of_time ? "the tests came to no end" : std::string();
  if (!failed.empty()) {
    trial.scenario = failed.front();
    trial.replay = fmt::format("ctest --preset ci -R '{}'", failed.front());
  }
  return trial;
}

Result<Verdict> Workshop::try_unchanged() {
  const double began = seconds_now();
  Verdict verdict;
  verdict.builds = true;
  verdict.log = options_.folder + "/unchanged";
  LASTREF_TRY(gate, try_gate({}, verdict.log));
  LASTREF_TRY(tests, try_tests({}, verdict.log));
  verdict.gate = std::move(gate);
  verdict.tests = std::move(tests);
  verdict.seconds = seconds_now() - began;
  return verdict;
}

Result<Verdict> Workshop::attack(const Mutant& mutant) {
  const double began = seconds_now();
  Verdict verdict;
  verdict.log = options_.folder + "/" + mutant.name;
  LASTREF_CHECK(patch(mutant, ""));
  verdict.builds = build(verdict.log + ".build.txt").has_value();
  if (verdict.builds) {
    LASTREF_TRY(gate, try_gate(mutant.row, verdict.log));
    LASTREF_TRY(tests, try_tests(mutant.row, verdict.log));
    verdict.gate = std::move(gate);
    verdict.tests = std::move(tests);
    if (!verdict.killed()) {
      // Nobody who is in charge of its row saw it. Does anybody?
      LASTREF_TRY(all_tests, try_tests({}, verdict.log));
      verdict.tests = std::move(all_tests);
      verdict.elsewhere = verdict.tests.found;
    }
  }
  LASTREF_CHECK(patch(mutant, "--reverse"));
  verdict.seconds = seconds_now() - began;
  return verdict;
}

}  // namespace lastref::harness
