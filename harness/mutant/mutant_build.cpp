#include "harness/mutant/mutant_build.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/mutant/test_programs.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/hash.hpp"
#include "harness/platform/proc.hpp"
#include "harness/program/program.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view patches = "fault_scenarios/mutants/";
// Seconds, several times what the slowest of each takes on two processors that others use as well.
constexpr int patience_for_builds = 3600;
constexpr int patience_for_git = 60;
/// A build in which warnings are not errors, because a bug may leave a variable unused; with the
/// fastest linker available; and with ccache, which needs options to accept precompiled headers and
/// their macros.
constexpr const char* configure =
    "for linker in mold lld gold bfd; do command -v ld.$linker >/dev/null && break; done; "
    "cache=; command -v ccache >/dev/null && cache=ccache; "
    "cmake --preset ci -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DLASTREF_PRODUCT_ALONE=ON "
    "-DCMAKE_CXX_COMPILER_LAUNCHER=$cache ${cache:+-DCMAKE_CXX_FLAGS=-fpch-preprocess} "
    "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$linker";
constexpr const char* ninja = "CCACHE_SLOPPINESS=pch_defines,time_macros ninja -C build/ci ";
constexpr const char* program = "lastref_program";
/// Recreated by each user, and never copied.
constexpr std::array<std::string_view, 2> not_copied = {"build", ".git"};

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

/// The command cannot distinguish its own failure from that of a process that it started.
Error said_no(std::string_view what, const std::string& log) {
  return {.code = std::errc::protocol_error,
          .call = Call::none,
          .subject = fmt::format("{}; see {}", what, log),
          .injected = false};
}

/// Whether results of hunters may depend on it, in addition to the mutant that is planted.
bool is_source(std::string_view file) {
  return !file.starts_with(patches) && !file.ends_with(".md");
}

bool is_source_of_program(std::string_view file) {
  return is_source(file) && !file.starts_with("property_tests/") && !file.starts_with("bench/");
}

std::uint64_t hash_with(std::uint64_t before, const std::string& file, const std::string& text) {
  return hash_of(fmt::format("{:x} {} {:x}", before, file, hash_of(text)));
}

}  // namespace

MutantBuild::MutantBuild(std::string checkout, std::string folder)
    : checkout_(std::move(checkout)),
      folder_(std::move(folder)),
      os_(std::make_unique<os::KernelOs>()) {}

Result<MutantBuild> MutantBuild::open(std::string checkout, std::string folder) {
  std::error_code error;
  fs::create_directories(folder + "/tree", error);
  if (error) {
    return failure(static_cast<std::errc>(error.value()), folder);
  }
  MutantBuild build(std::move(checkout), std::move(folder));
  const std::string path = build.folder_ + "/lock";
  std::ofstream(path, std::ios::app).flush();
  LASTREF_TRY(fd, build.os_->open(path, {.write = true}));
  build.lock_ = os::UniqueFd(*build.os_, fd);
  LASTREF_CHECK(build.os_->lock_range(fd, {.kind = os::LockKind::exclusive}));
  return build;
}

Result<std::optional<int>> MutantBuild::say(const std::string& command,
                                            const std::string& log,
                                            int seconds,
                                            const std::function<void()>& each_second) {
  return run_command(tree(), command, log, seconds, each_second);
}

std::string MutantBuild::log_of(const std::string& name, const char* what) const {
  return fmt::format("{}/{}.{}.txt", folder_, name, what);
}

/// A file is written only if it differs. Its time decides what is compiled again, so it must never
/// be older than an object that was made of another text.
Status MutantBuild::match(const std::string& file) {
  const fs::path from = fs::path(checkout_) / file;
  const fs::path to = fs::path(tree()) / file;
  const std::string text = read_file(from);
  std::error_code error;
  if (fs::exists(to, error) && text == read_file(to)) {
    return ok();
  }
  fs::create_directories(to.parent_path(), error);
  std::ofstream stream(to, std::ios::binary | std::ios::trunc);
  stream << text << std::flush;
  if (!stream) {
    return failure(std::errc::io_error, to);
  }
  fs::permissions(to, fs::status(from, error).permissions(), error);
  return error ? failure(static_cast<std::errc>(error.value()), to) : ok();
}

void MutantBuild::count_in(const std::string& file) {
  const std::string text = read_file(fs::path(tree()) / file);
  sources_ = is_source(file) ? hash_with(sources_, file, text) : sources_;
  sources_of_program_ =
      is_source_of_program(file) ? hash_with(sources_of_program_, file, text) : sources_of_program_;
}

Status MutantBuild::match_checkout() {
  std::error_code error;
  const std::set<std::string> wanted = files_below(checkout_, error);
  const std::set<std::string> present = files_below(tree(), error);
  sources_ = 0;
  sources_of_program_ = 0;
  for (const std::string& file : wanted) {
    LASTREF_CHECK(match(file));
    count_in(file);
  }
  for (const std::string& file : present) {
    if (!wanted.contains(file)) {
      fs::remove(fs::path(tree()) / file, error);
    }
  }
  return error ? failure(static_cast<std::errc>(error.value()), tree()) : ok();
}

Status MutantBuild::prepare() {
  LASTREF_CHECK(match_checkout());
  const std::string log = log_of("unplanted", "configure");
  LASTREF_TRY(code, say(configure, log, patience_for_builds));
  return code == 0 ? ok() : tl::unexpected(said_no("it cannot be configured", log));
}

Status MutantBuild::patch(const Planting& planting, const std::string& how) {
  const std::string log = log_of(planting.mutant.name, "patch");
  // Without the ceiling git would resolve the paths from the checkout around the copy.
  const std::string command = fmt::format(
      R"-(GIT_CEILING_DIRECTORIES="$(dirname "$PWD")" git apply {} {})-", how, planting.patch);
  LASTREF_TRY(code, say(command, log, patience_for_git));
  if (code != 0) {
    return tl::unexpected(said_no(planting.mutant.name + " does not fit", log));
  }
  std::error_code error;
  fs::remove(log, error);
  return ok();
}

Status MutantBuild::check(std::span<const Mutant> mutants) {
  LASTREF_CHECK(match_checkout());
  for (const Mutant& mutant : mutants) {
    LASTREF_CHECK(patch(planting_of(mutant), "--check"));
  }
  return ok();
}

Result<std::string> MutantBuild::text_of_patch(const Planting& planting) const {
  std::string text = read_file(fs::path(tree()) / planting.patch);
  return text.empty() ? failure(std::errc::io_error, planting.patch)
                      : Result<std::string>(std::move(text));
}

Status MutantBuild::plant(const Planting& planting) {
  return patch(planting, "");
}

Status MutantBuild::take_out(const Mutant& mutant) {
  for (const std::string& file : mutant.files) {
    LASTREF_CHECK(match(file));
  }
  return ok();
}

Result<std::string> MutantBuild::targets_of(Hunter hunter, const HunterOptions& options) const {
  if (is_gate(hunter)) {
    return program;
  }
  return hunter == Hunter::tests ? std::string("all") : targets_naming(checkout_, options.row);
}

Result<bool> MutantBuild::build_for(Hunter hunter,
                                    const HunterOptions& options,
                                    const std::string& name,
                                    const std::function<void(int)>& built) {
  LASTREF_TRY(targets, targets_of(hunter, options));
  if (targets.empty()) {
    return true;
  }
  const std::string log = log_of(name, "build");
  const auto tell = [&] {
    if (const auto percent = percent_built(read_file(log))) {
      built(*percent);
    }
  };
  LASTREF_TRY(code, say(ninja + targets, log, patience_for_builds, tell));
  return code == 0;
}

Result<Trial> MutantBuild::hunt(Hunter hunter,
                                const std::string& command,
                                const std::string& name,
                                int seconds) {
  const double began = seconds_now();
  const std::string log = log_of(name, std::string(name_of(hunter)).c_str());
  const std::string report = folder_ + "/report.json";
  std::error_code error;
  fs::remove(report, error);
  const std::string with_report = is_gate(hunter) ? command + " --json ../report.json" : command;
  LASTREF_TRY(code, say(with_report, log, seconds));
  const ProgramEnd end{.code = code, .said = read_file(log), .report = read_file(report)};
  Trial trial = is_gate(hunter) ? judge_gate(end) : judge_tests(end);
  trial.seconds = seconds_now() - began;
  return trial;
}

Result<std::string> MutantBuild::help_of_gate() {
  const std::string log = log_of("unplanted", "help");
  LASTREF_TRY(code, say("build/ci/bin/lastref gate --help", log, patience_for_git));
  return code == 0 ? Result<std::string>(read_file(log))
                   : tl::unexpected(said_no("the gate gives no help", log));
}

Planting planting_of(Mutant mutant) {
  std::string patch = std::string(patches) + path_of(mutant);
  return {.mutant = std::move(mutant), .patch = std::move(patch)};
}

}  // namespace lastref::harness
