// temp_dir_test: the location of temporary files, against a model. The search leaves no files.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/temp_folder.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/counts.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::must;

/// A computer on which some folders are usable, and some are not.
class Locations final : public os::KernelOs {
 public:
  std::map<std::string, std::string> variables;
  std::set<std::string> usable;       ///< Folders can be made and removed there.
  std::set<std::string> unremovable;  ///< Folders can be made there, but not removed.
  std::set<std::string> renamable;    ///< Any user may rename what is in it.
  std::optional<std::uint64_t> free;  ///< On shared memory; none: statvfs fails.
  std::set<std::string> made;         ///< Folders that exist now.
  std::vector<std::uint32_t> modes;
  bool is_nowhere = false;  ///< The working folder was removed.

  Status make_folder(const os::PathAt& where, std::uint32_t mode) noexcept override {
    const std::string parent = parent_of(where.path);
    modes.push_back(mode);
    if (!usable.contains(parent) && !unremovable.contains(parent)) {
      return failure(std::errc::permission_denied, where.path, Call::make_folder);
    }
    return made.insert(where.path).second
               ? ok()
               : Status(failure(std::errc::file_exists, where.path, Call::make_folder));
  }
  Status remove_folder(const os::PathAt& where) noexcept override {
    if (unremovable.contains(parent_of(where.path))) {
      return failure(std::errc::device_or_resource_busy, where.path, Call::remove_folder);
    }
    made.erase(where.path);
    return ok();
  }
  /// Every parent of an existing folder exists.
  Result<os::FileStatus> status_at(const os::PathAt& where) noexcept override {
    const auto is_above = [&](const std::string& folder) {
      return where.path == "/" || folder == where.path || folder.starts_with(where.path + '/');
    };
    if (std::ranges::none_of(usable, is_above) && std::ranges::none_of(unremovable, is_above)) {
      return failure(std::errc::no_such_file_or_directory, where.path, Call::status_at);
    }
    return os::FileStatus{.mode = renamable.contains(where.path) ? 0777U : 01777U,
                          .kind = os::FileKind::folder};
  }
  Result<std::uint64_t> free_space(const std::string& path) noexcept override {
    return path == "/dev/shm" && free
               ? Result<std::uint64_t>(*free)
               : failure(std::errc::no_such_file_or_directory, path, Call::free_space);
  }
  Result<std::string> working_folder() noexcept override {
    return is_nowhere ? Result<std::string>(
                            failure(std::errc::no_such_file_or_directory, {}, Call::working_folder))
                      : std::string("/here/now");
  }
  std::optional<std::string> environment(const std::string& name) noexcept override {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static std::string parent_of(const std::string& path) {
    const std::string parent = path.substr(0, path.rfind('/'));
    return parent.empty() ? "/" : parent;
  }
};

/// The few generated spellings, and the paths that they mean where HOME is /users/me.
const std::map<std::string, std::string> spellings = {
    {"/a", "/a"},
    {"/a/", "/a"},
    {"//a/./b", "/a/b"},
    {"/a/../b", "/b"},
    {"/../../a", "/a"},
    {"/", "/"},
    {"b", "/here/now/b"},
    {".", "/here/now"},
    {"../b", "/here/b"},
    {"~", "/users/me"},
    {"~/b", "/users/me/b"},
    {"~you/b", "/here/now/~you/b"},
};

rc::Gen<std::string> any_spelling() {
  std::vector<std::string> all = {""};
  for (const auto& [spelling, meaning] : spellings) {
    all.push_back(spelling);
  }
  return rc::gen::elementOf(all);
}

std::string below(const std::string& folder) {
  return folder == "/" ? "/name" : folder + "/name";
}

RC_GTEST_PROP(TempDir, is_where_the_rules_say_and_nothing_is_left_behind_M1, ()) {
  Locations os;
  os.variables["HOME"] = "/users/me";
  for (const char* name : {"LASTREF_TEMP_FOLDER", "JOBLIB_TEMP_FOLDER", "TMPDIR", "TEMP", "TMP"}) {
    const bool is_rare = std::string_view(name).ends_with("_FOLDER");
    if (*rc::gen::weightedElement<bool>({{is_rare ? 1 : 2, true}, {2, false}})) {
      os.variables[name] = *any_spelling();
    }
  }
  const auto root = *rc::gen::weightedOneOf<std::optional<std::string>>(
      {{3, rc::gen::just(std::optional<std::string>())},
       {1,
        rc::gen::map(rc::gen::elementOf(std::vector<std::string>{"/a", "b", "~"}),
                     [](std::string each) { return std::optional(std::move(each)); })}});
  for (const char* location :
       {"/dev/shm", "/a", "/b", "/a/b", "/users/me", "/tmp", "/var/tmp", "/usr/tmp", "/here/now"}) {
    switch (*rc::gen::weightedElement<int>({{3, 0}, {2, 1}, {1, 2}, {1, 3}})) {
      case 0:
        break;
      case 1:
        os.usable.insert(location);
        break;
      case 2:
        os.unremovable.insert(location);
        break;
      default:
        os.usable.insert(location);
        os.renamable.insert(location);
    }
  }
  const auto least = *rc::gen::element<std::uint64_t>(2'000'000'000, 0, 1000);
  os.free = *rc::gen::element<std::optional<std::uint64_t>>(
      std::nullopt, least, least + 1, 2'000'000'001, UINT64_MAX >> 1U);
  const bool tries = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});

  const auto serves = [&os](const std::string& location) {
    // Neither it nor a parent is renamable.
    return os.usable.contains(location) &&
           std::ranges::none_of(os.renamable, [&](const auto& above) {
             return location == above || location.starts_with(above + '/');
           });
  };
  std::optional<TempFolder> expected;
  std::optional<std::string> named = root;
  for (const char* variable : {"LASTREF_TEMP_FOLDER", "JOBLIB_TEMP_FOLDER"}) {
    if (!named && os.variables.contains(variable) && !os.variables[variable].empty()) {
      named = os.variables[variable];
    }
  }
  if (named) {
    expected = TempFolder{.path = below(spellings.at(*named))};
  } else if (tries && os.free && *os.free > least && serves("/dev/shm")) {
    expected = TempFolder{.path = "/dev/shm/name", .use_shared_mem = true};
  } else {
    std::vector<std::string> candidates;
    for (const char* variable : {"TMPDIR", "TEMP", "TMP"}) {
      if (os.variables.contains(variable) && !os.variables[variable].empty()) {
        candidates.push_back(spellings.at(os.variables[variable]));
      }
    }
    for (const char* location : {"/tmp", "/var/tmp", "/usr/tmp", "/here/now"}) {
      candidates.emplace_back(location);
    }
    const auto found = std::ranges::find_if(candidates, serves);
    if (found != candidates.end()) {
      expected = TempFolder{.path = below(*found)};
    } else if (os.free && *os.free > 0 && serves("/dev/shm")) {
      expected = TempFolder{.path = "/dev/shm/name", .use_shared_mem = true};
    }
  }

  const auto chosen =
      temp_dir(os, "name", root, {.shared_memory_min = least, .try_shared_memory = tries});
  RC_ASSERT(chosen.has_value() == expected.has_value());
  if (expected) {
    RC_ASSERT(chosen->path == expected->path);
    RC_ASSERT(chosen->use_shared_mem == expected->use_shared_mem);
  } else {
    RC_ASSERT(chosen.error().code == std::errc::no_such_file_or_directory);
    RC_ASSERT(chosen.error().subject.find("LASTREF_TEMP_FOLDER") != std::string::npos);
  }
  for (const std::string& folder : os.made) {
    // A folder is left only where none can be removed.
    RC_ASSERT(os.unremovable.contains(folder.substr(0, folder.rfind('/'))));
  }
  for (const std::uint32_t mode : os.modes) {
    RC_ASSERT(mode == 0700U);
  }
}

TEST(TempDirOnce, asks_nothing_of_shared_memory_if_a_location_is_named_M1) {
  pretend::DirectedOs os;
  os.variables["JOBLIB_TEMP_FOLDER"] = "/a";
  EXPECT_EQ(must(temp_dir(os, "name", "/b")), (TempFolder{.path = "/b/name"}));
  EXPECT_EQ(must(temp_dir(os, "name", std::nullopt)), (TempFolder{.path = "/a/name"}));
  os.variables["LASTREF_TEMP_FOLDER"] = "/c";
  EXPECT_EQ(must(temp_dir(os, "name", std::nullopt)), (TempFolder{.path = "/c/name"}));
  EXPECT_EQ(os.count_of(Call::free_space), 0U);
  EXPECT_EQ(os.count_of(Call::make_folder), 0U);
}

TEST(TempDirOnce, is_not_relative_to_a_working_folder_that_was_removed_M1) {
  Locations os;
  os.is_nowhere = true;
  os.variables["TMPDIR"] = "relative";
  EXPECT_FALSE(temp_dir(os, "name", std::nullopt, {}));
  EXPECT_FALSE(temp_dir(os, "name", "relative", {}));
  os.usable.insert("/var/tmp");
  EXPECT_EQ(must(temp_dir(os, "name", std::nullopt, {})).path, "/var/tmp/name");
}

TEST(TempDirOnce, a_tilde_without_a_home_is_a_name_M1) {
  Locations os;
  EXPECT_EQ(must(absolute_path(os, "~/a")), "/here/now/~/a");
  os.variables["HOME"] = "";
  EXPECT_EQ(must(absolute_path(os, "~")), "/here/now/~");
  os.variables["HOME"] = "/";
  EXPECT_EQ(must(absolute_path(os, "~/a")), "/a");
  EXPECT_EQ(must(absolute_path(os, "~")), "/");
  EXPECT_EQ(must(absolute_path(os, "")), "/here/now");
}

TEST(TempDirOnce, shared_memory_is_known_by_its_name_R10) {
  EXPECT_TRUE(is_on_shared_memory("/dev/shm"));
  EXPECT_TRUE(is_on_shared_memory("/dev/shm/a/b"));
  EXPECT_FALSE(is_on_shared_memory("/dev/shm2/a"));
  EXPECT_FALSE(is_on_shared_memory("/dev"));
  EXPECT_FALSE(is_on_shared_memory("/a/dev/shm/b"));
}

TEST(TempDirOnce, is_told_to_be_too_long_with_the_limit_E2) {
  Locations os;
  for (const std::string& long_name : {"/" + std::string(4095, 'x'), std::string(4086, 'x')}) {
    const auto path = absolute_path(os, long_name);
    ASSERT_FALSE(path);
    EXPECT_EQ(path.error().code, std::errc::filename_too_long);
    EXPECT_NE(path.error().subject.find("the limit is 4095"), std::string::npos);
    EXPECT_EQ(temp_dir(os, "name", long_name).error().code, std::errc::filename_too_long);
  }
  EXPECT_TRUE(absolute_path(os, std::string(4085, 'x')));
}

TEST(TempDirOnce, is_tried_with_a_folder_that_the_tracker_knows_M1_E10) {
  pretend::FreshFolder folder;
  folder.make_folder("tmp");
  folder.make_folder("other");
  pretend::DirectedOs os;
  os.variables["TMPDIR"] = folder.path("other");
  os.variables["TEMP"] = folder.path("tmp");
  pretend::Counts counts;
  const auto references = counts.party("one");
  int probes = 0;
  os.director = [&](const pretend::Crossing& crossing) -> std::optional<std::errc> {
    const bool is_probe = crossing.subject.find("lastref_probe_") != std::string::npos;
    if (crossing.call == Call::make_folder && is_probe) {
      ++probes;
      EXPECT_EQ(counts.of(crossing.subject), 1U) << "killed now, it would stay";
    }
    const bool is_refused = crossing.call == Call::remove_folder && is_probe &&
                            crossing.subject.starts_with(folder.path("other"));
    return is_refused ? std::optional(std::errc::device_or_resource_busy) : std::nullopt;
  };
  const TempFolderOptions options{.try_shared_memory = false, .references = references.get()};
  EXPECT_EQ(must(temp_dir(os, "name", {}, options)).path, folder.path("tmp/name"));
  EXPECT_EQ(probes, 2);
  EXPECT_TRUE(counts.empty());
  EXPECT_TRUE(counts.misuse.empty());
  // If the tracker cannot be reached, that is an error, but nothing may be left.
  counts.fails = 0;
  EXPECT_FALSE(temp_dir(os, "name", {}, options));
  EXPECT_EQ(probes, 2);
  os.director = nullptr;
  folder.remove("tmp");
  folder.remove("other");
}

TEST(TempDirOnce, survives_who_sweeps_its_probe_and_the_sweep_takes_only_empty_probes_M1) {
  const pretend::FreshFolder folder;
  pretend::DirectedOs os;
  os.mounts["/dev/shm"] = folder.path();
  os.free = UINT64_MAX;
  os.after = [&](const pretend::Crossing& crossing) {
    if (crossing.call == Call::make_folder) {
      EXPECT_TRUE(remove_probes(os, "/dev/shm"));
    }
  };
  EXPECT_EQ(must(temp_dir(os, "name", std::nullopt)).path, "/dev/shm/name");
  os.after = nullptr;
  folder.make_folder("lastref_probe_1");
  folder.make_folder("lastref_probe_2/full");
  folder.make_folder("other");
  folder.write("lastref_probe_3");
  folder.link("lastref_probe_4", folder.path("other"));
  EXPECT_TRUE(remove_probes(os, "/dev/shm"));
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"lastref_probe_2",
                                      "lastref_probe_2/full",
                                      "lastref_probe_3",
                                      "lastref_probe_4",
                                      "other"}));
  EXPECT_TRUE(remove_probes(os, folder.path("absent")));
  for (const char* name : {"lastref_probe_2", "lastref_probe_3", "lastref_probe_4", "other"}) {
    folder.remove(name);
  }
}

class DeleteFolder : public testing::Test {
 protected:
  Status act(const std::string& name, bool allow_non_empty) {
    return delete_folder(os_, folder_.path(name), allow_non_empty);
  }

  pretend::FreshFolder folder_;
  pretend::DirectedOs os_;
};

TEST_F(DeleteFolder, takes_what_is_in_it_only_if_that_is_allowed_M6) {
  folder_.make_folder("empty");
  EXPECT_TRUE(act("empty", false));
  EXPECT_FALSE(folder_.exists("empty"));
  folder_.make_folder("empty");
  EXPECT_TRUE(act("empty", true));
  EXPECT_FALSE(folder_.exists("empty"));
  folder_.make_folder("full/deep");
  folder_.write("full/deep/file");
  const Status kept = act("full", false);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, std::errc::directory_not_empty);
  EXPECT_TRUE(folder_.exists("full/deep/file"));
  EXPECT_TRUE(act("full", true));
  EXPECT_FALSE(folder_.exists("full"));
}

TEST_F(DeleteFolder, tries_ten_times_a_tenth_of_a_second_apart_M6) {
  folder_.make_folder("full/deep");
  EXPECT_FALSE(act("full", false));
  EXPECT_EQ(os_.count_of(Call::remove_folder), 10U);
  EXPECT_EQ(os_.clock, std::chrono::milliseconds(900));
  folder_.remove("full/deep");
  os_.clock = {};
  os_.crossings.clear();
  os_.director = [&, refused = 0](const pretend::Crossing& crossing) mutable {
    const bool refuses = crossing.call == Call::remove_folder && refused++ < 9;
    return refuses ? std::optional(std::errc::device_or_resource_busy) : std::nullopt;
  };
  EXPECT_TRUE(act("full", false));
  EXPECT_EQ(os_.count_of(Call::remove_folder), 10U);
  folder_.make_folder("full");
  os_.clock = {};
  os_.crossings.clear();
  os_.director = [&](const pretend::Crossing& crossing) {
    return crossing.call == Call::remove_folder ? std::optional(std::errc::permission_denied)
                                                : std::nullopt;
  };
  const Status refused = act("full", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::permission_denied);
  EXPECT_EQ(os_.count_of(Call::remove_folder), 10U);
  EXPECT_EQ(os_.clock, std::chrono::milliseconds(900));
  os_.director = nullptr;
  EXPECT_TRUE(act("full", true));
}

TEST_F(DeleteFolder, tries_on_at_once_if_it_cannot_wait_M6) {
  folder_.make_folder("full");
  os_.director = [waits =
                      0](const pretend::Crossing& crossing) mutable -> std::optional<std::errc> {
    switch (crossing.call) {
      case Call::remove_folder:
        return std::errc::device_or_resource_busy;
      case Call::poll:
        return ++waits % 2 == 1 ? std::errc::interrupted : std::errc::io_error;
      default:
        return std::nullopt;
    }
  };
  const Status refused = act("full", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::device_or_resource_busy);
  EXPECT_EQ(os_.count_of(Call::remove_folder), 10U);
  EXPECT_EQ(os_.clock, os::Instant(0));
  os_.director = nullptr;
  EXPECT_TRUE(act("full", false));
}

TEST_F(DeleteFolder, is_fine_with_what_has_vanished_or_is_no_folder_M6) {
  folder_.make_folder("target/deep");
  folder_.link("link", folder_.path("target"));
  folder_.write("file");
  for (const bool allow_non_empty : {false, true}) {
    EXPECT_TRUE(act("absent", allow_non_empty));
    EXPECT_TRUE(act("absent/below", allow_non_empty));
    EXPECT_TRUE(act("file", allow_non_empty));
    EXPECT_TRUE(act("file/below", allow_non_empty));
    EXPECT_TRUE(act("link", allow_non_empty));
    EXPECT_TRUE(folder_.exists("file"));
    EXPECT_TRUE(folder_.exists("link"));
    EXPECT_TRUE(folder_.exists("target/deep"));
  }
  EXPECT_EQ(os_.clock, os::Instant(0));
  // A link in the folder is removed; its target remains.
  folder_.make_folder("full");
  folder_.link("full/link", folder_.path("target"));
  EXPECT_TRUE(act("full", true));
  EXPECT_TRUE(folder_.exists("target/deep"));
  for (const char* name : {"target", "link", "file"}) {
    folder_.remove(name);
  }
}

TEST_F(DeleteFolder, survives_who_deletes_at_the_same_time_M6) {
  for (std::size_t at = 0; at < 40; ++at) {
    folder_.make_folder("full/deep");
    folder_.write("full/file");
    folder_.write("full/deep/file");
    os_.crossings.clear();
    os_.director = [&](const pretend::Crossing&) -> std::optional<std::errc> {
      if (os_.crossings.size() == at + 1) {
        folder_.remove("full");
      }
      return std::nullopt;
    };
    EXPECT_TRUE(act("full", true));
    folder_.remove("full");
  }
  EXPECT_EQ(os_.clock, os::Instant(0));
}

}  // namespace
}  // namespace lastref
