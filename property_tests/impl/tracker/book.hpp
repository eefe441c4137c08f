// Book: a ledger on a file of its own, and what may be written into it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "impl/tracker/ledger.hpp"
#include "property_tests/impl/tracker/generators.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {

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

  pretend::RecordLocks locks;
  pretend::PretendProcess os{locks};

 private:
  pretend::FreshFolder folder_;
};

inline Names names_in(const Ledger& ledger) {
  const std::vector<Resource> names = ledger.names();
  return {names.begin(), names.end()};
}

/// Few names of few sizes, so that space is reused; and now and then any name.
inline rc::Gen<Resource> any_entry_of_a_ledger() {
  const auto few = rc::gen::build<Resource>(
      rc::gen::set(&Resource::type,
                   rc::gen::element(ResourceType::file, ResourceType::folder, ResourceType::shm)),
      rc::gen::set(
          &Resource::name,
          rc::gen::element<std::string>("a", "b", "+", "aa", "-b", "\n\xff", "aaa", "-+-")));
  return rc::gen::weightedOneOf<Resource>({{6, few}, {1, pretend::any_resource()}});
}

}  // namespace lastref::tracker
