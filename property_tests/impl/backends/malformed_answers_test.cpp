// malformed_answers_test: a task writes an answer in place of its worker. An invalid answer fails
// the work of that worker, and the next call has another worker.
#include <cstdint>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "impl/backends/codec.hpp"
#include "impl/backends/pipe_ends.hpp"
#include "impl/os/wire.hpp"
#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using backends::Kind;
using pretend::code_of;
using pretend::Fixture;
using pretend::must;
using pretend::must_be;

/// A message of a worker, with any contents.
ByteString message_of(Kind kind, os::Bytes body) {
  os::Packed packed;
  os::put(packed, std::uint64_t{1 + body.size()});
  os::put(packed, static_cast<std::uint8_t>(kind));
  packed.insert(packed.end(), body.begin(), body.end());
  return {packed.begin(), packed.end()};
}

/// Reports that the job of this number took no time, followed by the rest.
os::Packed answer_to(std::uint64_t number, const std::string& rest) {
  os::Packed packed;
  os::put(packed, number);
  os::put(packed, std::int64_t{0});
  const os::Bytes bytes = os::bytes_of(rest);
  packed.insert(packed.end(), bytes.begin(), bytes.end());
  return packed;
}

constexpr std::uint64_t first_job = 1;

struct Lie {
  const char* name;
  ByteString bytes;
};
void PrintTo(const Lie& lie, std::ostream* out) {
  *out << lie.name;
}

class MalformedAnswers : public testing::TestWithParam<Lie> {};

INSTANTIATE_TEST_SUITE_P(
    Says,
    MalformedAnswers,
    testing::Values(Lie{"no_number", message_of(Kind::results, os::bytes_of("short"))},
                    Lie{"another_number", message_of(Kind::results, answer_to(77, ""))},
                    Lie{"a_job", message_of(Kind::job, answer_to(first_job, ""))},
                    Lie{"no_kind", message_of(Kind{backends::kinds}, {})},
                    Lie{"no_results", message_of(Kind::results, answer_to(first_job, "nonsense"))},
                    Lie{"no_failure", message_of(Kind::failed, answer_to(first_job, "nonsense"))}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_P(MalformedAnswers, fails_its_job_with_a_reason_and_the_next_call_works_B9) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  const auto told = must_be(backend->apply_async({{"say", {GetParam().bytes}}}, {}))->get();
  EXPECT_EQ(code_of(told), std::errc::bad_message);
  must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(must_be(must_be(backend->apply_async({{"square", {3}}}, {}))->get()), List{9});
}

}  // namespace
}  // namespace lastref
