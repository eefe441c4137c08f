// instrumented_os_names_test: the names that an instrumented process gives its files, folders and
// maps while they are open and when they are moved.
#include <array>
#include <cerrno>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/call.hpp>
#include <lastref/kernel_os.hpp>

#include "harness/instrument/fd_names.hpp"
#include "harness/instrument/instrumented_os.hpp"

namespace lastref::harness {
namespace {

TEST(InstrumentedOsNames, what_is_open_has_a_name_until_it_is_closed) {
  os::KernelOs kernel;
  Interceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  const auto pipe = os.make_pipe();
  const auto folder = os.open("/tmp/", {.folder = true});
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(folder);
  EXPECT_EQ(os.still_open().size(), 3U);
  EXPECT_TRUE(os.close(pipe->read));
  EXPECT_EQ(os.still_open(), (std::vector<std::string>{"pipe.write", "tmp"}));
  EXPECT_TRUE(os.close(pipe->write));
  EXPECT_TRUE(os.close(*folder));
  EXPECT_TRUE(os.still_open().empty());
}

TEST(InstrumentedOsNames, what_is_mapped_has_a_name_until_it_is_unmapped) {
  os::KernelOs kernel;
  Interceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  const auto program = os.open("/bin/true", {});
  ASSERT_TRUE(program);
  const auto file = os.map({.file = *program, .size = 16});
  const auto zeros = os.map({.size = 16, .kind = os::MapKind::shared});
  ASSERT_TRUE(file);
  ASSERT_TRUE(zeros);
  EXPECT_TRUE(os.close(*program));
  EXPECT_EQ(os.still_open(), (std::vector<std::string>{"map:anonymous", "map:true"}));
  InstrumentedOs::arm(Call::unmap, ENOMEM);
  EXPECT_FALSE(os.unmap(*file));
  EXPECT_TRUE(os.unmap(*zeros));
  EXPECT_EQ(os.still_open(), std::vector<std::string>{"map:true"});
  EXPECT_TRUE(os.unmap(*file));
  EXPECT_TRUE(os.still_open().empty());
}

TEST(InstrumentedOsNames, a_child_that_nobody_reaped_has_a_name_when_nobody_can_any_more) {
  constexpr os::Fd worker{7};
  FdNames names;
  for (const bool is_reaped : {true, false}) {
    names.open(worker, "process:worker_1");
    names.is_child(worker);
    EXPECT_EQ(names.still_open(), std::vector<std::string>{"process:worker_1"});
    if (is_reaped) {
      names.is_reaped(worker);
    }
    names.close(worker);
    EXPECT_EQ(names.still_open().empty(), is_reaped);
  }
  EXPECT_EQ(names.still_open(), std::vector<std::string>{"child:process:worker_1"});
  names.open(worker, "array");  // The number has another owner now.
  names.close(worker);
  EXPECT_EQ(names.still_open(), std::vector<std::string>{"child:process:worker_1"});
}

/// Records the objects and texts of its calls.
class NamingInterceptor final : public Interceptor {
 public:
  Injection before(const PendingCall& pending_call) noexcept override {
    objects.emplace_back(pending_call.object);
    texts.emplace_back(pending_call.text);
    return {};
  }

  std::vector<std::string> objects;
  std::vector<std::string> texts;
};

/// A way to rename, and its row.
struct Renaming {
  Call call;
  Status (os::Os::*rename)(const os::PathAt& from, const os::PathAt& to) noexcept;
};

void PrintTo(const Renaming& renaming, std::ostream* out) {
  *out << name_of(renaming.call);
}

class InstrumentedRenames : public testing::TestWithParam<Renaming> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kernel_.make_folder(base_, 0700));
    ASSERT_TRUE(kernel_.make_folder(path_of("a"), 0700));
  }
  void TearDown() override { EXPECT_TRUE(kernel_.remove_folder(base_)); }

  std::string path_of(const std::string& name) const { return base_ + '/' + name; }
  Status rename(const std::string& from, const std::string& to) {
    return (os_.*GetParam().rename)(path_of(from), path_of(to));
  }

  os::KernelOs kernel_;
  // Other tests run at the same time.
  const std::string base_ =
      testing::TempDir() + "instrumented_os_names_test_" + std::to_string(kernel_.process_id());
  NamingInterceptor interceptor_;
  InstrumentedOs os_{kernel_, interceptor_};
};

constexpr Renaming renamings[] = {{Call::rename, &os::Os::rename},
                                  {Call::rename_new, &os::Os::rename_new}};
INSTANTIATE_TEST_SUITE_P(Every,
                         InstrumentedRenames,
                         testing::ValuesIn(renamings),
                         [](const auto& row) { return std::string(name_of(row.param.call)); });

TEST_P(InstrumentedRenames, are_about_their_target_and_what_is_below_moves_along) {
  const auto folder = os_.open(path_of("a"), {.folder = true});
  const auto file = os_.open({*folder, "file"}, {.write = true, .create = true});
  ASSERT_TRUE(file);
  EXPECT_TRUE(rename("a", "b"));
  EXPECT_EQ(interceptor_.objects.back(), "b");
  EXPECT_EQ(interceptor_.texts.back(), path_of("b"));
  EXPECT_TRUE(os_.close(*file));
  EXPECT_EQ(interceptor_.objects.back(), "file");
  EXPECT_EQ(interceptor_.texts.back(), path_of("b/file"));
  EXPECT_TRUE(os_.unlink({*folder, "file"}));
  EXPECT_EQ(interceptor_.texts.back(), path_of("b/file"));
  EXPECT_TRUE(os_.close(*folder));
  EXPECT_EQ(interceptor_.objects.back(), "a");
  EXPECT_TRUE(kernel_.remove_folder(path_of("b")));
}

TEST_P(InstrumentedRenames, leave_the_old_state_when_they_fail) {
  ASSERT_TRUE(kernel_.make_folder(path_of("full"), 0700));
  ASSERT_TRUE(kernel_.make_folder(path_of("full/below"), 0700));
  const auto folder = os_.open(path_of("a"), {.folder = true});
  ASSERT_TRUE(folder);
  for (const auto& [error, in_tracker, elsewhere] : row_of(GetParam().call).errors) {
    InstrumentedOs::arm(GetParam().call, error);
    const Status failed = rename("a", "b");
    EXPECT_EQ(failed.error().code, std::errc{error});
    EXPECT_EQ(failed.error().subject, path_of("b"));
    EXPECT_TRUE(failed.error().injected);
    EXPECT_TRUE(kernel_.status_at(path_of("a")));
    EXPECT_FALSE(kernel_.status_at(path_of("b")));
  }
  EXPECT_FALSE(rename("a", "full"));
  EXPECT_TRUE(os_.status(*folder));
  EXPECT_EQ(interceptor_.texts.back(), path_of("a"));
  EXPECT_TRUE(os_.close(*folder));
  for (const char* const name : {"full/below", "full", "a"}) {
    EXPECT_TRUE(kernel_.remove_folder(path_of(name)));
  }
}

TEST(InstrumentedOsNames, what_is_done_to_a_file_is_about_the_file) {
  os::KernelOs kernel;
  NamingInterceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  const auto program = os.open("/bin/true", {});
  ASSERT_TRUE(program);
  interceptor.objects.clear();
  interceptor.texts.clear();
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(os.read_at(*program, bytes, 0), bytes.size());
  EXPECT_TRUE(os.sync(*program));
  EXPECT_FALSE(os.punch_hole(*program, 0, 1)) << "it may not be written";
  EXPECT_TRUE(os.file_system("/bin/true"));
  EXPECT_EQ(interceptor.objects, std::vector<std::string>(4, "true"));
  EXPECT_EQ(interceptor.texts, std::vector<std::string>(4, "/bin/true"));
  EXPECT_TRUE(os.close(*program));
}

TEST(ObjectNames, hold_nothing_of_machine_pid_or_chance) {
  EXPECT_EQ(object_of("/dev/shm/lastref-0/0123456789abcdef0123456789abcdef"), "tree");
  EXPECT_EQ(object_of("/a/runtime/0123456789abcdef0123456789abcdef"), "tree");
  EXPECT_EQ(object_of("/a/cache/0123456789abcdef0123456789abcdef"), "entry");
  EXPECT_EQ(object_of("/a/cache/0123456789abcdef0123456789abcdef.part"), "entry.part");
  EXPECT_EQ(object_of("/dev/shm/run/a.bin"), "a.bin");
  EXPECT_EQ(object_of("/a/b/"), "b");
  EXPECT_EQ(object_of("plain"), "plain");
}

TEST(ObjectNames, of_arrays_and_their_folders_keep_the_context_alone) {
  const std::string chance = "0123456789abcdef0123456789abcdef";
  const std::string folder = "/dev/shm/lastref_memmapping_folder_12_" + chance + "_";
  EXPECT_EQ(object_of(folder + "fit"), "arrays:fit");
  EXPECT_EQ(object_of(folder + "a_b"), "arrays:a_b");
  EXPECT_EQ(object_of(folder + "fit/"), "arrays:fit");
  EXPECT_EQ(object_of(folder + chance), "arrays");
  EXPECT_EQ(object_of(folder + "fit/12-345-" + chance + ".npy"), "array");
  EXPECT_EQ(object_of(folder + "fit/12-345-" + chance + ".npy.part"), "array.part");
  EXPECT_EQ(object_of("/tmp/lastref_probe_" + chance), "probe");
}

TEST(ObjectNames, of_caches_keep_what_their_files_are_for) {
  const std::string base = "/tmp/caches/12-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(object_of(base + ".cache"), "cache");
  EXPECT_EQ(object_of(base + ".lock"), "cache.lock");
  EXPECT_EQ(object_of(base + ".part"), "cache.part");
}

TEST(ObjectNames, that_only_look_like_those_stay_what_they_are) {
  const std::string chance = "0123456789abcdef0123456789abcdef";
  for (const std::string& name : {"12-345-" + chance,
                                  "12-345-" + chance + ".npy.old",
                                  "12-" + chance + ".npy",
                                  "-345-" + chance + ".npy",
                                  "12-x-" + chance + ".npy",
                                  "12-345-x" + chance.substr(1) + ".npy",
                                  "12-" + chance + ".cache.old",
                                  chance + ".cache",
                                  "lastref_memmapping_folder_" + chance + "_fit",
                                  "lastref_memmapping_folder_12_" + chance,
                                  "lastref_memmapping_folder_12_" + chance + "x",
                                  "lastref_probe_" + chance + "x",
                                  std::string("lastref_probe_")}) {
    EXPECT_EQ(object_of("/dev/shm/" + name), name);
  }
}

}  // namespace

}  // namespace lastref::harness
