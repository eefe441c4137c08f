// ledger_identity_test: the identity of a name, entered with it or later, also if the process is
// killed in between.
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/tracker/book.hpp"

namespace lastref::tracker {
namespace {

using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::PretendProcess;

using Identities = std::map<Resource, std::optional<Identity>>;

Identities identities_in(const Ledger& ledger) {
  Identities identities;
  for (const Resource& name : ledger.names()) {
    identities[name] = ledger.identity_of(name);
  }
  return identities;
}

RC_GTEST_PROP(LedgerProperties, which_thing_has_a_name_is_read_again_as_it_was_said_E4, ()) {
  Book book;
  Ledger ledger = book.open();
  Identities said;
  const auto steps = *rc::gen::inRange(0, 24);
  for (int step = 0; step < steps; ++step) {
    const Resource resource = *any_entry_of_a_ledger();
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        RC_ASSERT(ledger.strike(resource).has_value());
        said.erase(resource);
        break;
      case 1:
        RC_ASSERT(ledger.enter(resource).has_value());
        said[resource] = std::nullopt;
        break;
      case 2: {
        const Identity identity{.device = *rc::gen::arbitrary<std::uint64_t>(),
                                .inode = *rc::gen::inRange<std::uint64_t>(0, 3),
                                .born = *rc::gen::arbitrary<std::uint64_t>()};
        RC_ASSERT(ledger.enter(resource, identity).has_value());
        said[resource] = identity;
        break;
      }
      default:
        ledger = book.open();
    }
    RC_ASSERT(identities_in(ledger) == said);
  }
  const auto names = Ledger::names_at(book.os, book.path());
  RC_ASSERT(names.has_value());
  RC_ASSERT(*names == ledger.names());
}

TEST(Ledger, of_one_who_is_killed_or_fails_says_which_thing_it_was_or_is_E4) {
  const Resource name{.type = ResourceType::file, .name = "name"};
  const Identity old{.device = 1, .inode = 2, .born = 3};
  const Identity fresh{.device = 4, .inode = 5, .born = 6};
  for (const std::optional<Identity>& before : {std::optional<Identity>(), std::optional(old)}) {
    for (const Fate fate : {Fate::die_before, Fate::die_midway, Fate::die_after, Fate::fail}) {
      for (std::size_t at = 0;; ++at) {
        Book book;
        {
          Ledger ledger = book.open();
          ASSERT_TRUE(ledger.enter(name, before));
        }
        PretendProcess writer(book.locks, 2000);
        auto ledger = Ledger::open(writer, book.path());
        ASSERT_TRUE(ledger);
        std::size_t crossed = 0;
        writer.director = [&](const Crossing&) {
          return crossed++ == at ? Decision{.fate = fate} : Decision{};
        };
        const Status entered = ledger->enter(name, fresh);
        writer.director = {};
        const std::optional<Identity> now = book.open().identity_of(name);
        EXPECT_TRUE(now == fresh || (!entered && (now == before || !now))) << at;
        EXPECT_EQ(book.open().names().size(), 1U);
        if (fate == Fate::fail) {
          EXPECT_EQ(ledger->identity_of(name), entered ? fresh : before);
        }
        if (crossed <= at) {
          EXPECT_TRUE(entered);
          EXPECT_GT(at, 1U);
          break;
        }
      }
    }
  }
}

TEST(Ledger, that_was_given_space_takes_a_name_by_one_write_T6) {
  Book book;
  book.replace(std::string(4096, '\0'));
  Ledger ledger = book.open();
  const std::size_t before = book.os.count_of(Call::write_at);
  const Resource name{.type = ResourceType::file, .name = "/name"};
  ASSERT_TRUE(ledger.enter(name));
  EXPECT_EQ(book.os.count_of(Call::write_at), before + 1);
  EXPECT_EQ(names_in(book.open()), Names{name});
}

}  // namespace
}  // namespace lastref::tracker
