// ledger_test: the ledger on a real file, against a set of names; truncated, failed and killed at
// any point. A name may have an identity, and the space of many names is given back when few are
// left.
#include "impl/tracker/ledger.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rapidcheck/state.h>

#include "property_tests/impl/tracker/generators.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::FreshFolder;
using pretend::PretendProcess;
using pretend::RecordLocks;

using Names = std::set<Resource>;

/// A ledger on a file of its own.
class Book {
 public:
  Book() { folder_.write("ledger", ""); }
  ~Book() { folder_.remove("ledger"); }
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  Ledger open() {
    auto ledger = Ledger::open(os, path());
    LASTREF_ASSERT(ledger.has_value());
    return std::move(*ledger);
  }
  std::string path() const { return folder_.path("ledger"); }
  std::string text() const { return folder_.read("ledger"); }
  void replace(const std::string& text) const { folder_.write("ledger", text); }

  RecordLocks locks;
  PretendProcess os{locks};

 private:
  FreshFolder folder_;
};

Names names_in(const Ledger& ledger) {
  const std::vector<Resource> names = ledger.names();
  return {names.begin(), names.end()};
}

/// Few names of few sizes, so that space is reused; and now and then any name.
rc::Gen<Resource> any_entry_of_a_ledger() {
  const auto few = rc::gen::build<Resource>(
      rc::gen::set(&Resource::type,
                   rc::gen::element(ResourceType::file, ResourceType::folder, ResourceType::shm)),
      rc::gen::set(
          &Resource::name,
          rc::gen::element<std::string>("a", "b", "+", "aa", "-b", "\n\xff", "aaa", "-+-")));
  return rc::gen::weightedOneOf<Resource>({{6, few}, {1, pretend::any_resource()}});
}

struct Change {
  bool enters = true;
  Resource resource;

  Status make(Ledger& ledger) const {
    return enters ? ledger.enter(resource) : ledger.mark_dead(resource);
  }
  void apply(Names& names) const {
    if (enters) {
      names.insert(resource);
    } else {
      names.erase(resource);
    }
  }
};

std::ostream& operator<<(std::ostream& out, const Change& change) {
  return out << (change.enters ? "Enter(" : "Strike(") << change.resource << ")";
}

std::vector<Change> any_changes() {
  constexpr std::size_t changes_max = 16;
  return *rc::gen::container<std::vector<Change>>(
      *rc::gen::inRange<std::size_t>(0, changes_max),
      rc::gen::build<Change>(
          rc::gen::set(&Change::enters, rc::gen::weightedElement<bool>({{3, true}, {2, false}})),
          rc::gen::set(&Change::resource, any_entry_of_a_ledger())));
}

/// The system under test of the state machine: a ledger that can be closed and read again.
struct Shelf {
  Book book;
  Ledger ledger = book.open();
};

using Command = rc::state::Command<Names, Shelf>;

struct Make final : Command {
  Change change = {.enters = *rc::gen::arbitrary<bool>(), .resource = *any_entry_of_a_ledger()};

  void apply(Names& names) const override { change.apply(names); }
  void run(const Names& before, Shelf& shelf) const override {
    RC_ASSERT(change.make(shelf.ledger).has_value());
    RC_ASSERT(shelf.ledger.contains(change.resource) == change.enters);
    RC_ASSERT(names_in(shelf.ledger) == nextState(before));
    RC_ASSERT(shelf.ledger.empty() == nextState(before).empty());
  }
  void show(std::ostream& out) const override { out << change; }
};

struct Reopen final : Command {
  void run(const Names& before, Shelf& shelf) const override {
    shelf.ledger = shelf.book.open();
    RC_ASSERT(names_in(shelf.ledger) == before);
  }
  void show(std::ostream& out) const override { out << "Reopen()"; }
};

RC_GTEST_PROP(LedgerProperties, any_history_is_read_again_as_it_was_written_T6, ()) {
  Shelf shelf;
  rc::state::check(Names{}, shelf, rc::state::gen::execOneOfWithArgs<Make, Make, Reopen>());
}

RC_GTEST_PROP(LedgerProperties, a_place_is_used_again_by_a_name_of_the_same_size_T6, ()) {
  Book book;
  Ledger ledger = book.open();
  const auto size = *rc::gen::inRange<std::size_t>(1, 40);
  std::size_t size_of_the_file = 0;
  for (int life = 0; life < 5; ++life) {
    const Resource resource{
        .type = ResourceType::file,
        .name = *rc::gen::container<std::string>(size, rc::gen::nonZero<char>())};
    RC_ASSERT(ledger.enter(resource).has_value());
    const std::size_t grown = book.text().size();
    RC_ASSERT(life == 0 || grown == size_of_the_file);
    size_of_the_file = grown;
    RC_ASSERT(ledger.mark_dead(resource).has_value());
  }
}

/// The names that a reader finds that trusts every byte: those of complete records that were not
/// erased.
Names whole_records(const std::string& text, std::size_t cut) {
  constexpr std::size_t head = 12;
  Names names;
  std::size_t at = 0;
  while (at + head <= cut) {
    const auto byte = [&](std::size_t index) {
      return std::size_t{static_cast<unsigned char>(text[at + index])};
    };
    const std::size_t size = byte(2) + 256 * byte(3);
    if (at + head + size > cut) {
      break;
    }
    if (text[at] == '+') {
      names.insert(
          {.type = static_cast<ResourceType>(byte(1)), .name = text.substr(at + head, size)});
    }
    at += head + size;
  }
  return names;
}

/// Truncates the file, reads it, makes `later` changes, and reads it again.
void cut_and_go_on(Book& book,
                   const std::string& text,
                   std::size_t cut,
                   const std::vector<Change>& later) {
  book.replace(text.substr(0, cut));
  Names names = whole_records(text, cut);
  Ledger ledger = book.open();
  RC_ASSERT(names_in(ledger) == names);
  for (const Change& change : later) {
    RC_ASSERT(change.make(ledger).has_value());
    change.apply(names);
  }
  RC_ASSERT(names_in(book.open()) == names);
}

RC_GTEST_PROP(LedgerProperties, a_file_cut_anywhere_holds_its_whole_records_and_later_ones_T6, ()) {
  Book book;
  Names all;
  {
    Ledger ledger = book.open();
    for (const Change& change : any_changes()) {
      RC_ASSERT(change.make(ledger).has_value());
      change.apply(all);
    }
  }
  const std::string text = book.text();
  RC_ASSERT(whole_records(text, text.size()) == all);
  const auto later = any_changes();
  for (int sample = 0; sample < 5; ++sample) {
    cut_and_go_on(book, text, *rc::gen::inRange<std::size_t>(0, text.size() + 1), later);
  }
}

TEST(Ledger, cut_at_every_byte_holds_its_whole_records_and_later_ones_T6) {
  Book book;
  const auto named = [](const std::string& name) {
    return Resource{.type = ResourceType::file, .name = name};
  };
  std::vector<Change> changes;
  for (const std::string name : {"aa", "bb", "+-+-\n", "aa", "c", "+", "dd", "--------"}) {
    changes.push_back({.enters = true, .resource = named(name)});
    changes.push_back({.enters = name != "bb" && name != "c", .resource = named(name)});
  }
  {
    Ledger ledger = book.open();
    for (const Change& change : changes) {
      ASSERT_TRUE(change.make(ledger));
    }
  }
  const std::string text = book.text();
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    for (const std::string name : {"e", "eeeeeeeeeeeeeeeeeeee"}) {
      book.replace(text.substr(0, cut));
      Names names = whole_records(text, cut);
      Ledger ledger = book.open();
      EXPECT_EQ(names_in(ledger), names);
      ASSERT_TRUE(ledger.enter(named(name)));
      names.insert(named(name));
      EXPECT_EQ(names_in(book.open()), names);
    }
  }
}

RC_GTEST_PROP(LedgerProperties, garbage_behind_the_records_is_not_read_and_does_no_harm_T6, ()) {
  Book book;
  Names names;
  for (const Change& change : any_changes()) {
    Ledger ledger = book.open();
    RC_ASSERT(change.make(ledger).has_value());
    change.apply(names);
    // Bytes that look like the start of a record, or like nothing.
    const auto size = *rc::gen::inRange<std::size_t>(0, 30);
    const auto garbage =
        *rc::gen::container<std::string>(size, rc::gen::element('+', '-', '\0', '\1', 'a'));
    book.replace(book.text() + garbage);
    RC_ASSERT(names_in(book.open()) == names);
  }
}

/// Fails, shortens, or dies in the n-th write.
struct Fault {
  std::size_t at = 0;
  Fate fate = Fate::fail;
  bool then_fails = false;  ///< Every later write of the same change fails: the disk is full.
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << "write " << fault.at << " fate " << static_cast<int>(fault.fate)
             << (fault.then_fails ? ", then fails" : "");
}

RC_GTEST_PROP(LedgerProperties, a_change_whose_write_failed_was_not_made_T6, ()) {
  Book book;
  const auto fault = *rc::gen::build<Fault>(
      rc::gen::set(&Fault::at, rc::gen::inRange<std::size_t>(0, 12)),
      rc::gen::set(&Fault::fate, rc::gen::element(Fate::fail, Fate::shorten)),
      rc::gen::set(&Fault::then_fails));
  std::size_t writes = 0;
  bool full = false;
  book.os.director = [&](const Crossing& crossing) -> Decision {
    if (crossing.call != Call::write_at) {
      return {};
    }
    if (full) {
      return {.fate = Fate::fail, .code = std::errc::no_space_on_device};
    }
    if (writes++ != fault.at) {
      return {};
    }
    full = fault.then_fails;
    return {.fate = fault.fate, .code = std::errc::no_space_on_device};
  };
  Names names;
  Ledger ledger = book.open();
  for (const Change& change : any_changes()) {
    const Status made = change.make(ledger);
    full = false;
    if (made) {
      change.apply(names);
    } else {
      RC_ASSERT(made.error().code == std::errc::no_space_on_device);
    }
    RC_ASSERT(names_in(ledger) == names);
    RC_ASSERT(names_in(book.open()) == names);
  }
}

RC_GTEST_PROP(LedgerProperties, a_change_that_a_kill_cut_short_was_made_or_not_made_T6, ()) {
  Book book;
  const auto at = *rc::gen::inRange<std::size_t>(0, 12);
  const auto fate = *rc::gen::element(Fate::die_before, Fate::die_midway, Fate::die_after);
  const auto bytes = *rc::gen::inRange<std::size_t>(0, 20);
  std::size_t writes = 0;
  PretendProcess tracker(book.locks);
  tracker.director = [&](const Crossing& crossing) {
    return crossing.call == Call::write_at && writes++ == at
               ? Decision{.fate = fate, .bytes = bytes}
               : Decision{};
  };
  auto opened = Ledger::open(tracker, book.path());
  RC_ASSERT(opened.has_value());
  Names names;
  Names also;
  for (const Change& change : any_changes()) {
    also = names;
    change.apply(also);
    static_cast<void>(change.make(*opened));
    if (tracker.is_dead()) {
      break;
    }
    names = also;
  }
  Ledger next = book.open();
  RC_ASSERT(names_in(next) == names || names_in(next) == also);
  Names later = names_in(next);
  for (const Change& change : any_changes()) {
    RC_ASSERT(change.make(next).has_value());
    change.apply(later);
  }
  RC_ASSERT(names_in(book.open()) == later);
}

RC_GTEST_PROP(LedgerProperties, one_that_is_moved_is_whole_in_one_of_two_files_T6, ()) {
  Book book;
  Book other;
  const auto left = *rc::gen::container<std::string>(*rc::gen::inRange<std::size_t>(0, 200),
                                                     rc::gen::element('+', '-', '\0', '\1', 'a'));
  other.replace(left);  // The rest of an unfinished copy.
  Names names;
  const auto at = *rc::gen::inRange<std::size_t>(0, 3);
  const auto fate =
      *rc::gen::element(Fate::fail, Fate::die_before, Fate::die_midway, Fate::die_after);
  const auto bytes = *rc::gen::inRange<std::size_t>(0, 60);
  PretendProcess tracker(book.locks);
  auto ledger = Ledger::open(tracker, book.path());
  RC_ASSERT(ledger.has_value());
  for (const Change& change : any_changes()) {
    RC_ASSERT(change.make(*ledger).has_value());
    change.apply(names);
  }
  std::size_t writes = 0;
  tracker.director = [&](const Crossing& crossing) {
    return crossing.call == Call::write_at && writes++ == at
               ? Decision{.fate = fate, .code = std::errc::io_error, .bytes = bytes}
               : Decision{};
  };
  static_cast<void>(ledger->move_to(other.path()));
  tracker.director = nullptr;
  if (!tracker.is_dead()) {
    for (const Change& change : any_changes()) {
      RC_ASSERT(change.make(*ledger).has_value());
      change.apply(names);
    }
    RC_ASSERT(names_in(*ledger) == names);
  }
  PretendProcess next(book.locks);
  const auto file = os::open_file(next, book.path(), {});
  RC_ASSERT(file.has_value());
  const auto blank = Ledger::is_blank(next, file->get());
  RC_ASSERT(blank.has_value());
  const auto read = Ledger::names_at(next, *blank ? other.path() : book.path());
  RC_ASSERT(read.has_value());
  RC_ASSERT(Names(read->begin(), read->end()) == names);
}

TEST(Ledger, a_kill_while_a_place_is_used_again_costs_no_other_name_T6) {
  const Resource old{.type = ResourceType::file, .name = "old"};
  const Resource kept{.type = ResourceType::file, .name = "kept"};
  const Resource entered{.type = ResourceType::shm, .name = "new"};
  for (std::size_t write = 0; write < 2; ++write) {
    for (std::size_t bytes = 1; bytes <= 15; ++bytes) {
      Book book;
      {
        Ledger ledger = book.open();
        ASSERT_TRUE(ledger.enter(old));
        ASSERT_TRUE(ledger.enter(kept));
        ASSERT_TRUE(ledger.mark_dead(old));
      }
      PretendProcess tracker(book.locks);
      tracker.director = [&](const Crossing& crossing) {
        return crossing.call == Call::write_at && tracker.count_of(Call::write_at) == write + 1
                   ? Decision{.fate = Fate::die_midway, .bytes = bytes}
                   : Decision{};
      };
      auto ledger = Ledger::open(tracker, book.path());
      ASSERT_TRUE(ledger);
      static_cast<void>(ledger->enter(entered));
      ASSERT_TRUE(tracker.is_dead());
      EXPECT_EQ(names_in(book.open()), write == 0 ? Names{kept} : (Names{kept, entered}));
    }
  }
}

/// Whether the file is read again before the next entry.
class FailedEntry : public testing::TestWithParam<bool> {
 protected:
  /// Half of the next write is made, and later writes are refused.
  void fail_the_next_entry() {
    book_.os.director = [writes = 0](const Crossing& crossing) mutable -> Decision {
      if (crossing.call != Call::write_at) {
        return {};
      }
      ++writes;
      return {.fate = writes == 1   ? Fate::shorten
                      : writes == 2 ? Fate::fail
                                    : Fate::pass,
              .code = std::errc::no_space_on_device};
    };
  }

  Book book_;
};

TEST_P(FailedEntry, cannot_have_its_name_read_as_an_entry_T6) {
  // The record of a victim, at the offset where the tail of a longer, failed record will be.
  const Resource entered{.type = ResourceType::folder, .name = "/short"};
  std::string record;
  for (std::string name = "/victim" + std::string(300, 'a');
       record.empty() || record.find('\0') != std::string::npos;
       ++name.back()) {
    ASSERT_NE(name.back(), 'z') << "no record without a NUL was found";
    Book forgery;
    Ledger ledger = forgery.open();
    ASSERT_TRUE(ledger.enter(entered));
    const std::size_t at = forgery.text().size();
    ASSERT_TRUE(ledger.enter({.type = ResourceType::folder, .name = name}));
    record = forgery.text().substr(at);
  }
  const Resource carrier{.type = ResourceType::folder,
                         .name = entered.name + record + std::string(record.size() + 100, 'x')};
  Ledger ledger = book_.open();
  fail_the_next_entry();
  ASSERT_FALSE(ledger.enter(carrier));
  if (GetParam()) {
    ledger = book_.open();
  }
  ASSERT_TRUE(ledger.enter(entered));
  EXPECT_EQ(names_in(book_.open()), Names{entered});
}

TEST_P(FailedEntry, cannot_make_another_failed_one_whole_T6) {
  Ledger ledger = book_.open();
  for (const std::size_t size : {std::size_t{80}, std::size_t{20}}) {
    fail_the_next_entry();
    ASSERT_FALSE(ledger.enter({.type = ResourceType::file, .name = std::string(size, 'a')}));
    if (GetParam()) {
      ledger = book_.open();
    }
  }
  EXPECT_EQ(names_in(book_.open()), Names{});
}

INSTANTIATE_TEST_SUITE_P(Ledger, FailedEntry, testing::Bool(), [](const auto& each) {
  return each.param ? "read_again" : "at_once";
});

TEST(Ledger, has_a_name_once_that_a_stranger_wrote_twice_T6) {
  const Resource name{.type = ResourceType::file, .name = "a"};
  const Resource other{.type = ResourceType::file, .name = "b"};
  const auto text_with = [](const Resource& first, const Resource& second) {
    Book book;
    Ledger ledger = book.open();
    LASTREF_ASSERT(ledger.enter(first).has_value());
    LASTREF_ASSERT(ledger.enter(second).has_value());
    return book.text();
  };
  const std::string front = text_with(name, other);
  const std::string back = text_with(other, name);
  Book book;
  book.replace(front.substr(0, front.size() / 2) + back.substr(back.size() / 2));
  Ledger ledger = book.open();
  EXPECT_EQ(names_in(ledger), Names{name});
  ASSERT_TRUE(ledger.mark_dead(name));
  EXPECT_EQ(names_in(book.open()), Names{});
}

TEST(Ledger, is_forgotten_once_T6) {
  const Resource name{.type = ResourceType::file, .name = "a"};
  Book book;
  Ledger ledger = book.open();
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(ledger.enter(name));
    ASSERT_TRUE(ledger.forget(name));
  }
  ASSERT_TRUE(ledger.erase_tombstone(name));
  EXPECT_TRUE(book.open().forgotten().empty());
}

TEST(Ledger, of_any_size_takes_no_more_memory_than_its_records_T6) {
  const Resource name{.type = ResourceType::file, .name = "a"};
  Book book;
  ASSERT_TRUE(book.open().enter(name));
  std::filesystem::resize_file(book.path(), std::uintmax_t{1} << 40U);
  Ledger ledger = book.open();
  EXPECT_EQ(names_in(ledger), Names{name});
  const Resource later{.type = ResourceType::folder, .name = "later"};
  ASSERT_TRUE(ledger.enter(later));
  EXPECT_EQ(names_in(book.open()), (Names{name, later}));
}

TEST(Ledger, says_what_failed_when_it_cannot_be_read) {
  for (const Call call : {Call::open, Call::status, Call::read_at}) {
    Book book;
    book.replace("x");
    book.os.director = [call](const Crossing& crossing) {
      return crossing.call == call ? Decision{.fate = Fate::fail, .code = std::errc::io_error}
                                   : Decision{};
    };
    const auto ledger = Ledger::open(book.os, book.path());
    ASSERT_FALSE(ledger);
    EXPECT_EQ(ledger.error().call, call);
    EXPECT_EQ(book.os.open_fds(), 0U);
    book.os.director = {};
  }
}

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
        RC_ASSERT(ledger.mark_dead(resource).has_value());
        said.erase(resource);
        break;
      case 1:
        RC_ASSERT(ledger.enter(resource).has_value());
        said[resource] = std::nullopt;
        break;
      case 2: {
        const Identity identity{.device = *rc::gen::arbitrary<std::uint64_t>(),
                                .inode = *rc::gen::inRange<std::uint64_t>(0, 3),
                                .btime = *rc::gen::arbitrary<std::uint64_t>()};
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
  const Identity old{.device = 1, .inode = 2, .btime = 3};
  const Identity fresh{.device = 4, .inode = 5, .btime = 6};
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
          EXPECT_EQ(ledger->identity_of(name), entered ? std::optional(fresh) : std::nullopt);
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

Resource many_th(std::size_t number) {
  return {.type = ResourceType::file, .name = "/" + std::to_string(number) + std::string(300, 'm')};
}

constexpr std::size_t many = 1000;
const Resource kept{.type = ResourceType::file, .name = "kept"};

/// Bytes up to the last that is not NUL: no space is used after them.
std::size_t written(const Book& book) {
  return book.text().find_last_not_of('\0') + 1;
}

/// Adds one name that remains, and many that are added and erased.
void fill_and_empty(Ledger& ledger) {
  LASTREF_ASSERT(ledger.enter(kept).has_value());
  for (std::size_t number = 0; number < many; ++number) {
    LASTREF_ASSERT(ledger.enter(many_th(number)).has_value());
  }
  for (std::size_t number = 0; number < many; ++number) {
    static_cast<void>(ledger.mark_dead(many_th(number)));
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
    ASSERT_TRUE(ledger.mark_dead(many_th(number)));
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

/// Later changes, of names that may reuse the space of erased ones.
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
    RC_ASSERT((later.enters ? ledger.enter(later.resource) : ledger.mark_dead(later.resource)));
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
        // A name that was being erased may still be there.
        EXPECT_TRUE(name == kept || name.name.starts_with("/")) << name.name;
      }
      EXPECT_TRUE(book.open().contains(kept));
    }
  }
}

}  // namespace
}  // namespace lastref::tracker
