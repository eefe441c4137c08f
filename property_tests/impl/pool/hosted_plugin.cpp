// hosted_plugin: a shared object with functions for the workers of a host; see hosted_test.cpp.
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/pool.hpp>

namespace {

lastref::os::Pid process_of(int /*number*/) {
  return lastref::os::KernelOs().process_id();
}

/// Whether a pool in the worker calls its functions itself.
bool has_a_pool_of_its_own(const std::string& host) {
  lastref::Pool pool({.workers = 1, .host = lastref::host(host)});
  return pool.map<process_of>(std::vector<int>{1}).value()[0] == process_of(1);
}

}  // namespace

/// Of the same name and type in other builds, with another result.
int answer_of(int /*number*/) {
  return LASTREF_TEST_ANSWER;
}

extern "C" int answer_in_host(const std::string& host) {
  lastref::Pool pool({.workers = 1, .host = lastref::host(host)});
  return pool.map<answer_of>(std::vector<int>{1}).value()[0];
}

/// Calls a function in a worker of the host. True if that process is another one; else `error` has
/// the reason.
extern "C" bool call_in_host(const std::string& host, lastref::Error& error) {
  lastref::Pool pool({.workers = 1, .host = lastref::host(host)});
  const auto processes = pool.map<process_of>(std::vector<int>{1});
  if (!processes) {
    error = processes.error();
    return false;
  }
  return (*processes)[0] != process_of(1) &&
         pool.map<has_a_pool_of_its_own>(std::vector{host}).value()[0];
}
