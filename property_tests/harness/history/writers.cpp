#include "property_tests/harness/history/writers.hpp"

#include <random>
#include <string>

#include "property_tests/support/shared_file.hpp"

namespace lastref::pretend {
namespace {

using harness::HistoryLog;
using harness::oracle::OperationKind;

constexpr std::size_t words_size = 4096;
constexpr std::size_t count_at = slots_of_fixture;
constexpr int operations_before_the_end = 500;
/// The log has space for eight such writers.
constexpr int operations_that_go_on = operations_of_fixture / 16;

[[noreturn]] void die(os::Os& os) {
  if (const auto self = os.open_process(os.process_id())) {
    static_cast<void>(os.signal_process(*self, os::Signal::kill));
  }
  for (;;) {
  }
}

}  // namespace

std::size_t WritersFixture::size() noexcept {
  return words_size + HistoryLog::size_for(operations_of_fixture);
}

WritersFixture::WritersFixture(std::span<std::byte> memory) noexcept
    : words_(reinterpret_cast<std::uint64_t*>(memory.data()), words_size / sizeof(std::uint64_t)),
      log_(memory.subspan(words_size)) {}

std::optional<std::uint64_t> WritersFixture::get(std::uint64_t slot) noexcept {
  const std::uint64_t value = std::atomic_ref(words_[slot]).load(std::memory_order_acquire);
  return value == 0 ? std::nullopt : std::optional(value);
}

bool WritersFixture::put(std::uint64_t slot, std::uint64_t value) noexcept {
  std::uint64_t none = 0;
  return std::atomic_ref(words_[slot]).compare_exchange_strong(none, value);
}

void WritersFixture::count() noexcept {
  std::atomic_ref(words_[count_at]).fetch_add(1, std::memory_order_acq_rel);
}

std::uint64_t WritersFixture::counted() noexcept {
  return std::atomic_ref(words_[count_at]).load(std::memory_order_acquire);
}

void write_some(WritersFixture& fixture, std::string_view actor, std::uint64_t seed, int count) {
  std::mt19937_64 chance(seed);
  for (int at = 0; at < count; ++at) {
    // Slots are taken one after another, so that the writers race all the time.
    const std::uint64_t slot = std::min<std::uint64_t>(
        static_cast<std::uint64_t>(at) * slots_of_fixture / static_cast<std::uint64_t>(count),
        slots_of_fixture - 2);
    if (chance() % 2 == 0) {
      const auto asked = fixture.log().invoke(
          {.actor = actor, .kind = OperationKind::get, .slot = slot, .value = 0});
      asked.saw(fixture.get(slot));
    } else {
      const std::uint64_t value = chance() | 1U;
      const auto asked = fixture.log().invoke(
          {.actor = actor, .kind = OperationKind::put, .slot = slot, .value = value});
      asked.answered(fixture.put(slot, value));
    }
    fixture.count();
  }
}

int be_writer(os::Os& os, std::span<const std::string> arguments) {
  const auto memory = map_shared(os, os::Fd{3}, WritersFixture::size());
  if (!memory || arguments.size() != 3) {
    return 1;
  }
  WritersFixture fixture(*memory);
  const std::string& actor = arguments[0];
  const std::string& end = arguments[2];
  write_some(fixture, actor, std::stoull(arguments[1]), operations_before_the_end);
  if (end == "returns") {
    return 0;
  }
  if (end == "goes_on") {
    write_some(fixture, actor, std::stoull(arguments[1]) + 1, operations_that_go_on);
    for (;;) {
    }
  }
  // Only killed writers use the last slot.
  constexpr std::uint64_t slot = slots_of_fixture - 1;
  const std::uint64_t value = end == "before" ? 1 : 2;
  static_cast<void>(fixture.log().invoke(
      {.actor = actor, .kind = OperationKind::put, .slot = slot, .value = value}));
  if (end == "after") {
    fixture.put(slot, value);
  }
  die(os);
}

}  // namespace lastref::pretend
