// keyed_test: caches of values by key in one process: what a map does, limits, files that are no
// entries, and calls that fail.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rapidcheck/state.h>

#include <lastref/cache.hpp>

#include "impl/cache/entry_file.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::must;
using Texts = Cache<std::string, std::string>;
using Arrays = Cache<std::string, std::vector<double>>;

/// A folder of one cache, which is removed with its contents.
class Home {
 public:
  ~Home() {
    if (folder_.exists("texts")) {
      folder_.remove("texts");
    }
  }

  std::string path() const { return folder_.path("texts"); }
  std::string path(const std::string& name) const { return path() + '/' + name; }
  Texts open(const CacheOptions& options = {}) { return must(Texts::open(os, path(), options)); }
  /// The names of files in the cache's folder.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const std::string& name : folder_.names()) {
      if (name.starts_with("texts/")) {
        names.insert(name.substr(6));
      }
    }
    return names;
  }
  void write(const std::string& name, const std::string& text) {
    folder_.write("texts/" + name, text);
  }
  std::string read(const std::string& name) const { return folder_.read("texts/" + name); }
  const pretend::FreshFolder& folder() const { return folder_; }

 private:
  pretend::FreshFolder folder_;

 public:
  pretend::DirectedOs os;
};

std::string file_of(const std::string& key) {
  return cache::entry_name(cache::hash_of(os::bytes_of(key)));
}

std::optional<std::string> text_in(Texts& cache, const std::string& key) {
  const auto found = must(cache.get(key));
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

std::map<std::string, std::string> all_of(const Texts& cache) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : cache) {
    all.emplace(key, value);
  }
  return all;
}

/// What a map of the same contents would have.
struct Contents {
  std::map<std::string, std::string> values;
};

struct Opened {
  Home home;
  Texts cache = home.open();
};

using Command = rc::state::Command<Contents, Opened>;

std::string any_key() {
  return "key " + std::to_string(*rc::gen::inRange(0, 6));
}

std::string any_value() {
  return *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
}

struct Put final : Command {
  std::string key = any_key();
  std::string value = any_value();

  void apply(Contents& model) const override { model.values.emplace(key, value); }
  void run(const Contents& model, Opened& opened) const override {
    const bool is_new = !model.values.contains(key);
    RC_ASSERT(must(opened.cache.put(key, value)) ==
              (is_new ? PutOutcome::stored : PutOutcome::present));
  }
  void show(std::ostream& out) const override { out << "Put(" << key << ", " << value << ")"; }
};

struct Get final : Command {
  std::string key = any_key();

  void run(const Contents& model, Opened& opened) const override {
    const auto found = model.values.find(key);
    const auto expected = found == model.values.end() ? std::nullopt : std::optional(found->second);
    RC_ASSERT(text_in(opened.cache, key) == expected);
    RC_ASSERT(must(opened.cache.contains(key)) == expected.has_value());
  }
  void show(std::ostream& out) const override { out << "Get(" << key << ")"; }
};

struct GetOrCompute final : Command {
  std::string key = any_key();
  std::string value = any_value();

  void apply(Contents& model) const override { model.values.emplace(key, value); }
  void run(const Contents& model, Opened& opened) const override {
    int computed = 0;
    const auto view = must(opened.cache.get_or_compute(key, [&] {
      ++computed;
      return value;
    }));
    const auto found = model.values.find(key);
    RC_ASSERT(computed == (found == model.values.end() ? 1 : 0));
    RC_ASSERT(std::string(view) == (computed == 1 ? value : found->second));
  }
  void show(std::ostream& out) const override {
    out << "GetOrCompute(" << key << ", " << value << ")";
  }
};

struct Fail final : Command {
  std::string key = any_key();

  void checkPreconditions(const Contents& model) const override {
    RC_PRE(!model.values.contains(key));
  }
  void run(const Contents& /*model*/, Opened& opened) const override {
    const auto returned = opened.cache.get_or_compute(key, []() -> Result<std::string> {
      return failure(std::errc::result_out_of_range, "a function");
    });
    RC_ASSERT(failed_with(returned, std::errc::result_out_of_range));
    bool has_thrown = false;
    try {
      static_cast<void>(opened.cache.get_or_compute(
          key, []() -> std::string { throw std::runtime_error("a function"); }));
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    RC_ASSERT(has_thrown);
  }
  void show(std::ostream& out) const override { out << "Fail(" << key << ")"; }
};

struct Erase final : Command {
  std::string key = any_key();

  void apply(Contents& model) const override { model.values.erase(key); }
  void run(const Contents& model, Opened& opened) const override {
    RC_ASSERT(must(opened.cache.erase(key)) == model.values.contains(key));
  }
  void show(std::ostream& out) const override { out << "Erase(" << key << ")"; }
};

struct Reopen final : Command {
  void run(const Contents& model, Opened& opened) const override {
    opened.cache = opened.home.open();
    RC_ASSERT(opened.cache.size() == model.values.size());
  }
  void show(std::ostream& out) const override { out << "Reopen()"; }
};

struct Visit final : Command {
  void run(const Contents& model, Opened& opened) const override {
    RC_ASSERT(all_of(opened.cache) == model.values);
    RC_ASSERT(opened.cache.size() == model.values.size());
  }
  void show(std::ostream& out) const override { out << "Visit()"; }
};

RC_GTEST_PROP(KeyedCache, does_what_a_map_does_L11, ()) {
  Opened opened;
  rc::state::check(
      Contents{},
      opened,
      rc::state::gen::execOneOfWithArgs<Put, Get, GetOrCompute, Fail, Erase, Reopen, Visit>());
}

RC_GTEST_PROP(KeyedCache, evicts_only_the_least_recently_used_and_only_for_space_L13, ()) {
  constexpr std::uint64_t limit = 1000;
  Home home;
  auto cache = home.open({.size_limit = limit});
  std::map<std::string, std::pair<std::string, int>> model;  // value, last use
  std::uint64_t size = 0;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 12), rc::gen::inRange(0, 400)));
  int stores = 0;
  for (const auto& [number, length] : steps) {
    const std::string key = "key " + std::to_string(number);
    const auto found = text_in(cache, key);
    RC_ASSERT(found.has_value() == model.contains(key));
    if (found) {
      RC_ASSERT(*found == model.at(key).first);
      model.at(key).second = stores;
      continue;
    }
    const std::string value(static_cast<std::size_t>(length), 'v');
    const auto kept = must(cache.get_or_compute(key, [&] { return value; }));
    RC_ASSERT(kept == value);
    ++stores;
    const std::uint64_t added = cache::entry_size(key.size(), value.size());
    const auto now = all_of(cache);
    RC_ASSERT(now.contains(key));
    int last_evicted = -1;
    for (auto each = model.begin(); each != model.end();) {
      if (now.contains(each->first)) {
        ++each;
      } else {
        last_evicted = std::max(last_evicted, each->second.second);
        each = model.erase(each);
      }
    }
    for (const auto& [other, entry] : model) {
      RC_ASSERT(entry.second >= last_evicted);
    }
    RC_ASSERT((last_evicted >= 0) == (size + added > limit));
    model.emplace(key, std::pair(value, stores));
    size = cache.size_bytes();
    RC_ASSERT(size <= limit);
    std::uint64_t counted = 0;
    for (const auto& [other, entry] : model) {
      counted += cache::entry_size(other.size(), entry.first.size());
    }
    RC_ASSERT(size == counted);
  }
}

TEST(KeyedCache, returns_a_view_that_stays_after_its_entry_was_evicted_L13) {
  Home home;
  auto cache = home.open({.size_limit = 20'000});
  const std::string value(9'000, 'v');
  const auto view = must(cache.get_or_compute("first", [&] { return value; }));
  for (const char* const key : {"second", "third", "fourth"}) {
    EXPECT_EQ(must(cache.put(key, value)), PutOutcome::stored);
  }
  EXPECT_FALSE(must(cache.contains("first")));
  EXPECT_EQ(view, value);
}

TEST(KeyedCache, reports_what_put_has_done_L13) {
  Home home;
  auto cache = home.open({.size_limit = 300, .when_full = WhenFull::refuse});
  EXPECT_EQ(must(cache.put("a", std::string(100, 'a'))), PutOutcome::stored);
  EXPECT_EQ(must(cache.put("a", std::string(1, 'b'))), PutOutcome::present);
  EXPECT_EQ(must(cache.put("b", std::string(100, 'b'))), PutOutcome::full);
  EXPECT_EQ(must(cache.get_or_compute("b", [] { return std::string(100, 'b'); })),
            std::string(100, 'b'));
  EXPECT_FALSE(must(cache.contains("b")));
  auto frozen = home.open({.is_frozen = true});
  EXPECT_EQ(must(frozen.put("b", "b")), PutOutcome::frozen);
  EXPECT_EQ(must(frozen.get_or_compute("b", [] { return std::string("b"); })), "b");
  EXPECT_EQ(all_of(frozen), (std::map<std::string, std::string>{{"a", std::string(100, 'a')}}));
  EXPECT_EQ(home.names().size(), 2);
  auto evicting = home.open({.size_limit = 300});
  EXPECT_EQ(must(evicting.put("c", std::string(300, 'c'))), PutOutcome::full);
  EXPECT_EQ(evicting.size(), 1);
}

TEST(KeyedCache, views_arrays_in_place_and_decodes_other_values_L11) {
  Home home;
  const std::vector<double> values = {1, 2.5, -3};
  {
    auto numbers = must(Arrays::open(home.os, home.path()));
    EXPECT_EQ(must(numbers.put("n", values)), PutOutcome::stored);
    const auto view = *must(numbers.get("n"));
    EXPECT_TRUE(std::ranges::equal(view, values));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 64, 0);
    const auto as_text = Texts::open(home.os, home.path());
    EXPECT_TRUE(failed_with(as_text, std::errc::invalid_argument));
  }
  home.folder().remove("texts");
  using Tables = Cache<std::pair<int, std::string>, std::map<std::string, int>>;
  auto tables = must(Tables::open(home.os, home.path()));
  const std::map<std::string, int> table = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(must(tables.get_or_compute({1, "x"}, [&] { return table; })), table);
  EXPECT_EQ(must(tables.get({1, "x"})), table);
  EXPECT_EQ(must(tables.get({2, "x"})), std::nullopt);
  for (const auto& [key, value] : tables) {
    EXPECT_EQ(key, (std::pair<int, std::string>(1, "x")));
    EXPECT_EQ(value, table);
  }
}

TEST(KeyedCache, saves_its_entries_into_another_cache_L11) {
  Home home;
  auto cache = home.open();
  must(cache.put("a", "1"));
  must(cache.put("b", "2"));
  const std::string other = home.folder().path("other");
  EXPECT_EQ(must(cache.save(other)), 2);
  EXPECT_EQ(must(cache.save(other)), 0);
  EXPECT_EQ(all_of(must(Texts::open(home.os, other))), all_of(cache));
  home.folder().remove("other");
}

TEST(KeyedCache, of_a_name_is_below_the_cache_home_L11) {
  Home home;
  home.os.variables["XDG_CACHE_HOME"] = home.folder().path();
  EXPECT_EQ(must(Texts::open(home.os, "images")).folder(), home.folder().path("lastref/images"));
  for (const char* const name : {"", ".", ".."}) {
    const auto opened = Texts::open(home.os, name);
    EXPECT_TRUE(failed_with(opened, std::errc::invalid_argument)) << name;
  }
  home.folder().remove("lastref");
}

TEST(KeyedCache, refuses_a_computation_that_requests_its_own_key_L12) {
  Home home;
  auto cache = home.open();
  const auto computed = cache.get_or_compute("a", [&]() -> Result<std::string> {
    LASTREF_TRY(own, cache.get_or_compute("a", [] { return std::string(); }));
    return std::string(own);
  });
  EXPECT_TRUE(failed_with(computed, std::errc::resource_deadlock_would_occur));
  const auto other = cache.get_or_compute("a", [&]() -> Result<std::string> {
    LASTREF_TRY(inner, cache.get_or_compute("b", [] { return std::string("b"); }));
    return "a" + std::string(inner);
  });
  EXPECT_EQ(must(other), "ab");
}

/// A file in the place of an entry.
struct Planted {
  std::string name;
  std::string text;
};

std::string entry_text(std::string key, const std::string& value) {
  cache::EntryHead head;
  head.key_size = key.size();
  head.value_size = value.size();
  std::string text(reinterpret_cast<const char*>(&head), sizeof(head));
  text += key;
  text.resize(64);
  return text + value;
}

TEST(KeyedCache, replaces_a_file_that_is_no_entry_of_its_key_L14) {
  const std::string whole = entry_text("key", "value");
  std::string long_key = whole;
  long_key[8 + 7] = '\x7f';
  std::string long_value = whole;
  long_value[16] = '\x06';
  for (const auto& [name, text] : std::vector<Planted>{{"empty", ""},
                                                       {"short head", whole.substr(0, 31)},
                                                       {"cut key", whole.substr(0, 34)},
                                                       {"cut value", whole.substr(0, 68)},
                                                       {"longer", whole + "x"},
                                                       {"other magic", "x" + whole.substr(1)},
                                                       {"too long a key", long_key},
                                                       {"too long a value", long_value},
                                                       {"another key", entry_text("kez", "v")}}) {
    SCOPED_TRACE(name);
    Home home;
    static_cast<void>(home.open());
    home.write(file_of("key"), text);
    home.write("index", "");  // So that the entries are counted.
    auto cache = home.open();
    EXPECT_EQ(text_in(cache, "key"), std::nullopt);
    EXPECT_EQ(must(cache.get_or_compute("key", [] { return std::string("new"); })), "new");
    EXPECT_EQ(all_of(cache), (std::map<std::string, std::string>{{"key", "new"}}));
    EXPECT_EQ(cache.size(), 1);
    EXPECT_EQ(cache.size_bytes(), cache::entry_size(3, 3));
  }
  Home home;
  static_cast<void>(home.open());
  home.write(file_of("key"), whole);
  auto cache = home.open();
  EXPECT_EQ(text_in(cache, "key"), "value");  // So what was planted above is wrong in one byte.
}

TEST(KeyedCache, replaces_a_symlink_without_following_it_L14) {
  Home home;
  static_cast<void>(home.open());
  home.folder().write("victim", entry_text("key", "value"));
  home.folder().link("texts/" + file_of("key"), home.folder().path("victim"));
  auto cache = home.open({.size_limit = 1000});
  EXPECT_EQ(text_in(cache, "key"), std::nullopt);
  EXPECT_EQ(must(cache.put("key", "new")), PutOutcome::stored);
  EXPECT_EQ(text_in(cache, "key"), "new");
  EXPECT_EQ(home.folder().read("victim"), entry_text("key", "value"));
  home.folder().remove("victim");
}

TEST(KeyedCache, refuses_a_folder_with_another_index_L14) {
  Home home;
  home.folder().make_folder("texts");
  home.write("index", std::string(100, 'x'));
  const auto opened = Texts::open(home.os, home.path());
  EXPECT_TRUE(failed_with(opened, std::errc::bad_message));
  EXPECT_NE(describe(opened.error()).find(home.path("index")), std::string::npos)
      << describe(opened.error());
  home.write("index", std::string(47, 'x'));  // A killed process had begun to write it.
  EXPECT_EQ(home.open().size(), 0);
}

TEST(KeyedCache, refuses_a_folder_of_other_files_L14) {
  for (const char* name : {"notes.txt", "0123456789abcdef0123456789abcdef"}) {
    Home home;
    home.folder().make_folder("texts");
    home.write(name, std::string(1000, 'x'));
    const auto opened = Texts::open(home.os, home.path());
    ASSERT_TRUE(failed_with(opened, std::errc::directory_not_empty));
    EXPECT_NE(describe(opened.error()).find(name), std::string::npos) << describe(opened.error());
    EXPECT_EQ(home.names(), std::set<std::string>{name});
  }
  Home home;
  EXPECT_EQ(must(home.open().put("key", "value")), PutOutcome::stored);
  home.folder().remove("texts/index");  // The way to repair it.
  Texts again = home.open();
  EXPECT_EQ(again.size(), 1);
  EXPECT_EQ(text_in(again, "key"), "value");
}

template <typename K, typename V>
bool opens(Home& home) {
  const auto opened = Cache<K, V>::open(home.os, home.path());
  EXPECT_TRUE(opened || failed_with(opened, std::errc::invalid_argument));
  return opened.has_value();
}

TEST(KeyedCache, refuses_a_cache_of_other_types_also_if_they_have_the_same_size_L14) {
  using Numbers = std::vector<float>;
  {
    Home home;
    EXPECT_TRUE((opens<std::int64_t, Numbers>(home)));
    EXPECT_FALSE((opens<std::int64_t, std::vector<std::int32_t>>(home)));
    EXPECT_FALSE((opens<std::uint64_t, Numbers>(home)));
    EXPECT_FALSE((opens<std::int64_t, std::string>(home)));
    EXPECT_TRUE((opens<std::int64_t, Numbers>(home)));
  }
  {
    Home home;
    EXPECT_TRUE((opens<std::string, double>(home)));
    EXPECT_FALSE((opens<std::string, std::int64_t>(home)));
    EXPECT_TRUE((opens<std::string, double>(home)));
  }
}

TEST(KeyedCache, without_space_reports_the_file_and_leaves_none_L14) {
  Home home;
  auto cache = home.open();
  home.os.director = [](const pretend::Crossing& crossing) {
    return crossing.call == Call::write ? std::optional(std::errc::no_space_on_device)
                                        : std::nullopt;
  };
  const auto computed = cache.get_or_compute("key", [] { return std::string("value"); });
  ASSERT_TRUE(failed_with(computed, std::errc::no_space_on_device));
  EXPECT_NE(describe(computed.error()).find(home.path()), std::string::npos);
  EXPECT_EQ(home.names(), std::set<std::string>{"index"});
  home.os.director = nullptr;
  EXPECT_EQ(must(cache.put("key", "value")), PutOutcome::stored);
}

TEST(KeyedCache, reports_a_lock_that_no_process_holds_and_that_cannot_be_taken_L14) {
  Home home;
  auto cache = home.open();
  home.os.director = [](const pretend::Crossing& crossing) {
    return crossing.call == Call::lock_range
               ? std::optional(std::errc::resource_unavailable_try_again)
               : std::nullopt;
  };
  const auto stored = cache.put("key", "value");
  home.os.director = nullptr;
  EXPECT_TRUE(failed_with(stored, std::errc::resource_unavailable_try_again));
  EXPECT_EQ(must(cache.put("key", "value")), PutOutcome::stored);
}

/// Opens, stores, evicts and erases; returns the first error.
Status live(Home& home, int& computed) {
  LASTREF_TRY(cache, Texts::open(home.os, home.path(), {.size_limit = 400}));
  for (const char* const key : {"a", "b", "a", "c"}) {
    LASTREF_TRY(view, cache.get_or_compute(key, [&] {
      ++computed;
      return std::string(100, *key);
    }));
    if (view != std::string(100, *key)) {
      return failure(std::errc::bad_message, "another value");
    }
  }
  LASTREF_CHECK(cache.erase("c"));
  LASTREF_CHECK(cache.put("d", "d"));
  return ok();
}

TEST(KeyedCache, after_any_failed_call_is_whole_L14) {
  for (const std::errc code : {std::errc::io_error, std::errc::no_space_on_device}) {
    for (std::size_t k = 0;; ++k) {
      SCOPED_TRACE("call " + std::to_string(k) + " fails");
      Home home;
      int computed = 0;
      const auto fail = pretend::fail_kth(k, code);
      std::optional<Call> failed;
      home.os.director = [&](const pretend::Crossing& crossing) {
        const auto decided = fail(crossing);
        failed = decided ? crossing.call : failed;
        return decided;
      };
      const Status lived = live(home, computed);
      home.os.director = nullptr;
      for (const std::string& name : home.names()) {
        EXPECT_TRUE(failed == Call::unlink || !name.ends_with(".part")) << name;
      }
      EXPECT_LE(computed, 3);
      EXPECT_TRUE(lived || lived.error().code == code) << describe(lived.error());
      if (!failed) {
        EXPECT_TRUE(lived);
        EXPECT_GT(k, 60);
        break;
      }
      auto cache = home.open({.size_limit = 400});
      for (const auto& [key, value] : all_of(cache)) {
        EXPECT_EQ(value, key == "d" ? "d" : std::string(100, key[0]));
      }
      EXPECT_EQ(home.names().size(), cache.size() + 1) << "a file that is no entry remains";
      EXPECT_TRUE(must(cache.put("e", "e")) == PutOutcome::stored);
      EXPECT_LE(cache.size_bytes(), 400);
    }
  }
}

}  // namespace
}  // namespace lastref
