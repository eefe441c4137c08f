#include "harness/kernel/ungated_judgement.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <lastref/kernel_os.hpp>

namespace lastref::harness {
namespace {

/// The texts with which reports of sanitizers begin.
constexpr std::array<std::string_view, 3> complaints = {
    "WARNING: ThreadSanitizer:", "ERROR: AddressSanitizer", "runtime error:"};

/// The name that the C library's sem_open gives a semaphore before its final name. A process that
/// is killed in between leaves it, and its owner cannot be determined.
bool is_unborn_semaphore(std::string_view path) {
  constexpr std::string_view before = "/dev/shm/sem.";
  constexpr std::size_t chance = 6;
  return path.starts_with(before) && path.size() == before.size() + chance &&
         path.find('_') == std::string_view::npos;
}

/// A file that ThreadSanitizer's runtime makes in $TMPDIR before main, and unlinks in the next
/// call. A process that is killed between the two leaves it.
bool is_of_thread_sanitizer([[maybe_unused]] std::string_view path) {
#if defined(__SANITIZE_THREAD__)
  return path.substr(path.rfind('/') + 1).starts_with("tsan.rodata.");
#else
  return false;
#endif
}

}  // namespace

std::vector<std::string> without_accidents(std::vector<std::string> left) {
  std::erase_if(left, is_unborn_semaphore);
  std::erase_if(left, is_of_thread_sanitizer);
  return left;
}

std::vector<Finding> findings_of_ungated(const Evidence& evidence, bool has_kills) {
  std::vector<Finding> findings;
  const auto add = [&](Judgement judgement) {
    std::ranges::move(judgement.findings, std::back_inserter(findings));
  };
  for (const std::string_view complaint : complaints) {
    if (const std::size_t at = evidence.standard_error.find(complaint); at != std::string::npos) {
      constexpr std::size_t shown = 200;
      findings.push_back({.claim = "sanitizers: they have nothing to say",
                          .seen = evidence.standard_error.substr(at, shown)});
    }
  }
  add(judge_by("no-crash", evidence));
  add(judge_by("no-hang", evidence));
  add(judge_by("no-leak", evidence));
  add(judge_by("no-leak at the next start", evidence));
  if (!has_kills) {
    add(judge_by("refuted", evidence));
  }
  return findings;
}

/// A process that finds a race exits at once, so that this is seen whichever process reaps it. A
/// failed allocation is an error in the product, not a finding.
void set_up_sanitizers() {
  os::KernelOs kernel;
  for (const char* const name : {"TSAN_OPTIONS", "ASAN_OPTIONS"}) {
    std::string options = kernel.environment(name).value_or("");
    options.append(options.empty() ? "" : ":")
        .append("halt_on_error=1:allocator_may_return_null=1");
    ::setenv(name, options.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): we have one thread.
  }
}

}  // namespace lastref::harness
