// hosted_test: pools with workers in another program than that of their process.
#include <dlfcn.h>

#include <filesystem>
#include <memory>

#include <lastref/kernel_os.hpp>

#include "impl/backends/task_pool.hpp"
#include "impl/backends/typed_call.hpp"
#include "property_tests/impl/pool/pool_fixture.hpp"

namespace lastref {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

int twice(int number) {
  return 2 * number;
}

class HostedPools : public pretend::PoolFixture {
 protected:
  ~HostedPools() override {
    if (folder.exists("plugin.so")) {
      folder.remove("plugin.so");
    }
  }

  /// Loads a copy of the plugin, and calls its function in a worker of the host.
  Error call_of(const char* plugin, const std::string& host) {
    load(plugin, folder.path("plugin.so"));
    return call(host);
  }
  void load(const char* plugin, const std::string& path) {
    std::filesystem::copy_file(plugin, folder.path("plugin.so"));
    plugin_ = ::dlopen(path.c_str(), RTLD_NOW);
    ASSERT_NE(plugin_, nullptr);
  }
  /// No code: it has worked.
  Error call(const std::string& host) {
    using Call = bool (*)(const std::string&, Error&);
    Error error;
    const auto function = reinterpret_cast<Call>(::dlsym(plugin_, "call_in_host"));
    const bool has_worked = function(host, error);
    EXPECT_EQ(has_worked, error == Error());
    return error;
  }
  Error error_of_twice(const std::string& host) {
    return with({.workers = 1, .host = lastref::host(host)})
        .map<twice>(std::vector<int>{1})
        .error();
  }

 private:
  void* plugin_ = nullptr;  ///< Stays loaded.
};

TEST_F(HostedPools, call_functions_of_a_shared_object_in_the_host_L1) {
  EXPECT_EQ(call_of(LASTREF_TEST_PLUGIN, LASTREF_TEST_PROGRAM), Error());
}

TEST_F(HostedPools, find_the_object_of_a_relative_path_L1) {
  const pretend::WorkingFolder inside(folder.path());
  load(LASTREF_TEST_PLUGIN, "./plugin.so");
  EXPECT_EQ(call(LASTREF_TEST_PROGRAM), Error());
}

TEST_F(HostedPools, find_the_object_of_a_relative_path_from_another_folder_L1) {
  {
    const pretend::WorkingFolder inside(folder.path());
    load(LASTREF_TEST_PLUGIN, "././plugin.so");  // Another name than that of an earlier test.
  }
  EXPECT_EQ(call(LASTREF_TEST_PROGRAM), Error());
}

TEST_F(HostedPools, call_the_function_of_their_own_object_L1) {
  int expected = 1;
  for (const char* path : {LASTREF_TEST_PLUGIN, LASTREF_TEST_OTHER_PLUGIN}) {
    void* const plugin = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr);
    const auto function =
        reinterpret_cast<int (*)(const std::string&)>(::dlsym(plugin, "answer_in_host"));
    EXPECT_EQ(function(LASTREF_TEST_PROGRAM), expected++);
  }
}

TEST_F(HostedPools, take_the_installed_program_from_a_variable_or_the_path) {
  load(LASTREF_TEST_PLUGIN, folder.path("plugin.so"));
  const std::string path = os::KernelOs().environment("PATH").value_or("");
  pretend::set_variable("PATH", std::filesystem::path(LASTREF_TEST_PROGRAM).parent_path());
  EXPECT_EQ(call("lastref"), Error());
  pretend::set_variable("LASTREF_HOST", "/nowhere/lastref");
  EXPECT_THAT(call("lastref").subject, HasSubstr("/nowhere/lastref"));
  pretend::set_variable("PATH", path);
  pretend::set_variable("LASTREF_HOST", LASTREF_TEST_PROGRAM);
  EXPECT_EQ(call("lastref"), Error());
  pretend::set_variable("LASTREF_HOST", "");
}

TEST_F(HostedPools, report_a_host_that_is_not_there) {
  const Error error = call_of(LASTREF_TEST_PLUGIN, "/nowhere/lastref");
  EXPECT_EQ(error.code, std::errc::no_such_file_or_directory);
  EXPECT_THAT(error.subject,
              "the host of workers, /nowhere/lastref: install lastref, or set LASTREF_HOST to its "
              "path");
}

TEST_F(HostedPools, take_their_host_when_they_are_made) {
  pretend::set_variable("LASTREF_HOST", "/nowhere/first");
  with({.host = installed});
  pretend::set_variable("LASTREF_HOST", "/nowhere/second");
  EXPECT_THAT(pool->map<twice>(std::vector{1}).error().subject, HasSubstr("/nowhere/first:"));
  pretend::set_variable("LASTREF_HOST", "");
}

TEST_F(HostedPools, report_an_object_that_cannot_be_loaded) {
  load(LASTREF_TEST_PLUGIN, folder.path("plugin.so"));
  std::filesystem::rename(folder.path("plugin.so"), folder.path("elsewhere"));
  const Error error = call(LASTREF_TEST_PROGRAM);
  folder.remove("elsewhere");
  EXPECT_EQ(error.code, std::errc::executable_format_error);
  EXPECT_THAT(error.subject,
              MatchesRegex("task 0, .*process_of, worker [0-9]+: .*plugin[.]so: cannot open.*"));
}

TEST_F(HostedPools, report_an_object_that_was_replaced_by_another_build_L1) {
  load(LASTREF_TEST_PLUGIN, folder.path("plugin.so"));
  std::filesystem::copy_file(LASTREF_TEST_OTHER_PLUGIN, folder.path("other.so"));
  std::filesystem::rename(folder.path("other.so"), folder.path("plugin.so"));
  const Error error = call(LASTREF_TEST_PROGRAM);
  EXPECT_EQ(error.code, std::errc::function_not_supported);
  EXPECT_THAT(error.subject,
              MatchesRegex("task 0, .*plugin[.]so is of another build now: [0-9a-f]+, not "
                           "[0-9a-f]+"));
}

TEST_F(HostedPools, refuse_an_object_without_a_build_id_L1) {
  const Error error = call_of(LASTREF_TEST_PLUGIN_WITHOUT_ID, LASTREF_TEST_PROGRAM);
  EXPECT_EQ(error.code, std::errc::invalid_argument);
  EXPECT_THAT(error.subject,
              AllOf(HasSubstr("process_of"),
                    HasSubstr("plugin.so has no build id: link it with -Wl,--build-id")));
}

TEST_F(HostedPools, report_a_function_that_is_in_the_program_itself) {
  const Error error = error_of_twice(LASTREF_TEST_PROGRAM);
  EXPECT_EQ(error.code, std::errc::function_not_supported);
  EXPECT_THAT(error.subject, HasSubstr("in a program: only a shared object can be loaded"));
}

TEST_F(HostedPools, refuse_a_function_that_is_in_no_file) {
  const auto heap = std::make_unique<int>();
  static const TypedFunction generated(
      "generated", nullptr, nullptr, nullptr, reinterpret_cast<TypedFunction::Init>(heap.get()));
  const Host hosting = host(LASTREF_TEST_PROGRAM);
  backends::TaskPool tasks(
      backends::TaskPool::os_of(hosting), std::nullopt, {.workers = 1, .host = hosting});
  const auto group = tasks.begin(generated, std::nullopt, std::nullopt);
  EXPECT_EQ(group.error().code, std::errc::invalid_argument);
  EXPECT_EQ(group.error().subject, "generated: in no file that a worker could load");
}

TEST_F(HostedPools, report_a_worker_with_another_program) {
  EXPECT_EQ(with({.host = host("/proc/self/exe")}).map<twice>(std::vector<int>{4}).value()[0], 8);
  const Error error = error_of_twice(LASTREF_TEST_OTHER_PROGRAM);
  EXPECT_EQ(error.code, std::errc::function_not_supported);
  EXPECT_THAT(error.subject,
              MatchesRegex("task 0, .*twice, worker [0-9]+: .*twice@[0-9a-f]+: not in the program "
                           "of this worker.*"));
}

TEST_F(HostedPools, report_a_host_that_does_not_serve) {
  const Error error = error_of_twice("/bin/true");
  EXPECT_EQ(error.code, std::errc::operation_not_permitted);
  EXPECT_THAT(error.subject,
              "the host of workers, /bin/true: the program that was started as the tracker exited "
              "with code 0: main has to call lastref::init, or to return what "
              "lastref::run_if_spawned gives, before anything else");
}

TEST_F(HostedPools, report_a_function_of_another_build_with_both_builds_L1) {
  std::string id = TypedCall<twice, 0, 0>::registered.id();
  id.replace(id.rfind('@'), std::string::npos, "@0123");
  const Error error = backends::about_unknown(id);
  EXPECT_EQ(error.code, std::errc::function_not_supported);
  EXPECT_THAT(error.subject, MatchesRegex(".*twice@0123: .* is of another build, @[0-9a-f]*"));
}

}  // namespace
}  // namespace lastref
