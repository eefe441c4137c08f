// ledger_space_test: the space of many names in a ledger is given back when few are left. None of
// it is read again, whatever fails or dies meanwhile.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/tracker/book.hpp"

namespace lastref::tracker {
namespace {

using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::PretendProcess;

Resource many_th(std::size_t number) {
  return {.type = ResourceType::file, .name = "/" + std::to_string(number) + std::string(300, 'm')};
}

constexpr std::size_t many = 1000;
const Resource kept{.type = ResourceType::file, .name = "kept"};

/// Bytes up to the last that is not NUL: no space is used after them.
std::size_t written(const Book& book) {
  return book.text().find_last_not_of('\0') + 1;
}

/// Enters one name that remains, and many that are entered and struck.
void fill_and_empty(Ledger& ledger) {
  LASTREF_ASSERT(ledger.enter(kept).has_value());
  for (std::size_t number = 0; number < many; ++number) {
    LASTREF_ASSERT(ledger.enter(many_th(number)).has_value());
  }
  for (std::size_t number = 0; number < many; ++number) {
    static_cast<void>(ledger.strike(many_th(number)));
  }
}

TEST(LedgerSpace, is_given_back_by_many_names_that_have_gone_E12) {
  constexpr std::size_t few_bytes = std::size_t{64} << 10U;
  Book book;
  Ledger ledger = book.open();
  for (std::size_t time = 1; time <= 3; ++time) {
    fill_and_empty(ledger);
    EXPECT_LE(written(book), few_bytes) << "of 315,000 that names have taken";
    EXPECT_EQ(book.os.count_of(Call::punch_hole), time);
  }
  EXPECT_EQ(names_in(ledger), Names{kept});
  EXPECT_EQ(names_in(book.open()), Names{kept});
}

TEST(LedgerSpace, that_names_in_use_lie_in_is_theirs_E12) {
  Book book;
  Ledger ledger = book.open();
  fill_and_empty(ledger);
  Names names{kept};
  for (std::size_t number = 0; number < many; ++number) {
    ASSERT_TRUE(ledger.enter(many_th(number)));
  }
  const Resource last = many_th(many - 1);
  for (std::size_t number = 0; number + 1 < many; ++number) {
    ASSERT_TRUE(ledger.strike(many_th(number)));
  }
  names.insert(last);
  EXPECT_EQ(names_in(book.open()), names);
  // The last record is not moved; others are written into the space before it.
  const std::size_t size = book.text().size();
  ASSERT_TRUE(ledger.enter(many_th(7)));
  EXPECT_EQ(book.text().size(), size);
  names.insert(many_th(7));
  EXPECT_EQ(names_in(book.open()), names);
}

/// Changes that come later, of names that may reuse the space of struck ones.
struct Later {
  bool enters = true;
  Resource resource;
};

std::vector<Later> any_later() {
  constexpr std::size_t changes_max = 12;
  const auto name = rc::gen::oneOf(any_entry_of_a_ledger(),
                                   rc::gen::map(rc::gen::inRange<std::size_t>(0, many), many_th));
  return *rc::gen::container<std::vector<Later>>(
      *rc::gen::inRange<std::size_t>(0, changes_max),
      rc::gen::build<Later>(
          rc::gen::set(&Later::enters, rc::gen::weightedElement<bool>({{3, true}, {2, false}})),
          rc::gen::set(&Later::resource, name)));
}

void show(const Later& later, std::ostream& out) {
  out << (later.enters ? "Enter(" : "Strike(") << later.resource.name.size() << " bytes)";
}

RC_GTEST_PROP(LedgerSpace, is_used_anew_without_a_word_of_what_was_there_E12, ()) {
  Book book;
  const auto refuses = *rc::gen::arbitrary<bool>();
  book.os.director = [refuses](const Crossing& crossing) -> Decision {
    return refuses && crossing.call == Call::punch_hole
               ? Decision{.fate = Fate::fail, .code = std::errc::operation_not_supported}
               : Decision{};
  };
  Ledger ledger = book.open();
  fill_and_empty(ledger);
  Names names{kept};
  for (const Later& later : any_later()) {
    RC_ASSERT((later.enters ? ledger.enter(later.resource) : ledger.strike(later.resource)));
    if (later.enters) {
      names.insert(later.resource);
    } else {
      names.erase(later.resource);
    }
    RC_ASSERT(names_in(book.open()) == names);
    if (*rc::gen::weightedElement<bool>({{3, false}, {1, true}})) {
      ledger = book.open();
    }
  }
}

TEST(LedgerSpace, given_back_by_who_is_killed_then_costs_no_name_E12) {
  for (const Fate fate : {Fate::die_before, Fate::die_after}) {
    for (const std::size_t write : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      Book book;
      PretendProcess tracker(book.locks);
      // At the hole, or at a write after it.
      tracker.director = [&](const Crossing& crossing) {
        const bool is_cut = tracker.count_of(Call::punch_hole) > 0;
        const bool is_it = write == 0 ? crossing.call == Call::punch_hole
                                      : is_cut && crossing.call == Call::write_at &&
                                            tracker.count_of(Call::write_at) % 2 == write % 2;
        return is_it ? Decision{.fate = fate} : Decision{};
      };
      auto ledger = Ledger::open(tracker, book.path());
      ASSERT_TRUE(ledger);
      fill_and_empty(*ledger);
      static_cast<void>(ledger->enter(many_th(0)));
      EXPECT_TRUE(tracker.is_dead());
      for (const Resource& name : names_in(book.open())) {
        // A name that was being struck may still be there.
        EXPECT_TRUE(name == kept || name.name.starts_with("/")) << name.name;
      }
      EXPECT_TRUE(book.open().contains(kept));
    }
  }
}

}  // namespace
}  // namespace lastref::tracker
