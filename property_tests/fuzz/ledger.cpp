// ledger: the file of a tree's names, in any state, and what is written into it afterwards.
#include "impl/tracker/ledger.hpp"

#include <algorithm>
#include <optional>

#include "property_tests/fuzz/file_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

using tracker::Ledger;

const std::string path = "/tree/ledger";

/// The contents of a ledger, all of which must be the same after a new start.
struct Said {
  std::vector<Resource> names;
  std::vector<Resource> forgotten;

  bool operator==(const Said&) const = default;
};

Said said_by(const Ledger& ledger) {
  Said said{.names = ledger.names(), .forgotten = ledger.forgotten()};
  for (const auto* list : {&said.names, &said.forgotten}) {
    expect(std::ranges::is_sorted(*list), "names are in order");
    for (const Resource& resource : *list) {
      expect(check_name(resource).has_value(), "a name can be");
    }
  }
  expect(ledger.empty() == said.names.empty(), "empty is to have no names");
  return said;
}

Ledger opened(FileOs& os) {
  auto ledger = Ledger::open(os, path);
  expect(ledger.has_value(), "any file is a ledger");
  return *std::move(ledger);
}

void expect_kept(FileOs& os, const Ledger& ledger) {
  expect(said_by(opened(os)) == said_by(ledger), "what is written is read again, and no more");
}

void enter(Ledger& ledger, const Resource& resource) {
  Said wanted = said_by(ledger);
  if (!ledger.contains(resource)) {
    wanted.names.insert(std::ranges::upper_bound(wanted.names, resource), resource);
  }
  expect(ledger.enter(resource).has_value(), "there is space");
  expect(said_by(ledger) == wanted, "a name is entered");
}

void strike_first(Ledger& ledger) {
  Said wanted = said_by(ledger);
  if (!wanted.names.empty()) {
    expect(ledger.mark_dead(wanted.names.front()).has_value(), "a name is struck");
    wanted.names.erase(wanted.names.begin());
    expect(said_by(ledger) == wanted, "no other name is struck");
  }
}

void lay_first_to_rest(Ledger& ledger) {
  Said wanted = said_by(ledger);
  if (!wanted.forgotten.empty()) {
    expect(ledger.erase_tombstone(wanted.forgotten.front()).has_value(), "a name is laid to rest");
    wanted.forgotten.erase(wanted.forgotten.begin());
    expect(said_by(ledger) == wanted, "no other name is laid to rest");
  }
}

void forget_last(Ledger& ledger) {
  Said wanted = said_by(ledger);
  if (!wanted.names.empty()) {
    const Resource last = wanted.names.back();
    wanted.names.pop_back();
    if (!std::ranges::binary_search(wanted.forgotten, last)) {
      wanted.forgotten.insert(std::ranges::upper_bound(wanted.forgotten, last), last);
    }
    expect(ledger.forget(last).has_value(), "a name is forgotten");
    expect(said_by(ledger) == wanted, "no other name is forgotten");
  }
}

}  // namespace

void check(os::Bytes input) {
  FileOs os(input);
  {
    Ledger ledger = in_proportion(input, [&] { return opened(os); });
    expect_kept(os, ledger);
    // Sizes for which a hostile file may have left space, and one for which it has not.
    enter(ledger, {.type = ResourceType::file, .name = "a"});
    enter(ledger, {.type = ResourceType::folder, .name = "/tmp/b"});
    forget_last(ledger);
    strike_first(ledger);
    enter(ledger, {.type = ResourceType::shm, .name = "c"});
    lay_first_to_rest(ledger);
    expect_kept(os, ledger);
    strike_first(ledger);
    strike_first(ledger);
    expect_kept(os, ledger);
  }
  expect(os.is_at_rest(), "a ledger closes its file");
}

}  // namespace lastref::fuzz
