// calls: the rows of calls.def, steps.def and probes.def as data, and the text of an error.
#include <array>
#include <cerrno>
#include <cstddef>

#include <lastref/error.hpp>
#include <lastref/probe.hpp>

namespace lastref {
namespace {

/// A list that a row can refer to; it may be empty, which a plain array may not.
template <ErrorRow... rows>
struct Errors {
  static constexpr std::array<ErrorRow, sizeof...(rows)> list{rows...};
};

constexpr auto make_calls() noexcept {
  using enum Traits;
  return std::to_array<CallRow>({
#define LASTREF_ERROR(error, in_tracker, elsewhere)  \
  ErrorRow {                                         \
    error, Response::in_tracker, Response::elsewhere \
  }
#define LASTREF_CALL(method, point, traits, ...) \
  {Call::method, #method, point, traits, Errors<__VA_ARGS__>::list},
#include <lastref/calls.def>
#undef LASTREF_CALL
#undef LASTREF_ERROR
  });
}

constexpr std::array calls = make_calls();

constexpr StepRow steps[] = {
#define LASTREF_STEP(name, point) {Step::name, #name, point},
#include <lastref/steps.def>
#undef LASTREF_STEP
};

constexpr ProbeRow rows[] = {
#define LASTREF_PROBE(name, sentence) {Probe::name, #name, sentence},
#include <lastref/probes.def>
#undef LASTREF_PROBE
};

}  // namespace

std::span<const CallRow> call_rows() noexcept {
  return calls;
}

std::span<const StepRow> step_rows() noexcept {
  return steps;
}

const CallRow& row_of(Call call) noexcept {
  LASTREF_ASSERT(call != Call::none);
  const std::size_t index = static_cast<std::size_t>(call) - 1;
  LASTREF_ASSERT(index < std::size(calls));
  return calls[index];
}

const StepRow& row_of(Step step) noexcept {
  const auto index = static_cast<std::size_t>(step);
  LASTREF_ASSERT(index < std::size(steps));
  return steps[index];
}

std::string_view name_of(Call call) noexcept {
  return call == Call::none ? std::string_view("none") : row_of(call).method;
}

namespace {

/// The limit that was reached, or what refuses the call, if the kernel's text does not contain it;
/// empty if there is none.
std::string_view limit_behind(const Error& error) {
  switch (error.code) {
    case std::errc::too_many_files_open:
      return "RLIMIT_NOFILE";
    case std::errc::too_many_files_open_in_system:
      return "fs.file-max";
    case std::errc::file_too_large:
      return "RLIMIT_FSIZE, or the file system's";
    case std::errc::resource_unavailable_try_again:
      return error.call == Call::spawn || error.call == Call::start_thread
                 ? "RLIMIT_NPROC, or pids.max"
                 : "";
    case std::errc::not_enough_memory:
      return error.call == Call::map ? "RLIMIT_AS, or vm.max_map_count" : "";
    case std::errc::operation_not_permitted:
    case std::errc::function_not_supported:
      // The kernel itself permits it to each process. pidfd_open(2)
      return error.call == Call::open_process
                 ? "pidfd_open(2), which the system call filter of a container may refuse"
                 : "";
    default:
      return "";
  }
}

}  // namespace

std::string describe(const Error& error) {
  std::string what = error.call == Call::none ? std::string() : std::string(name_of(error.call));
  if (!what.empty() && !error.subject.empty()) {
    what += ' ';
  }
  what += error.subject;
  if (!what.empty() && (error.code == std::errc{} || error.code == std::errc::owner_dead)) {
    return what;  // What a task threw, or how its worker died.
  }
  std::string why = std::make_error_code(error.code).message();
  if (const std::string_view limit = limit_behind(error); !limit.empty()) {
    why += " (" + std::string(limit) + ')';
  }
  return what.empty() ? why : what + ": " + why;
}

std::string Error::what() const {
  return describe(*this);
}

std::span<const ProbeRow> probe_rows() noexcept {
  return rows;
}

}  // namespace lastref
