// lastref_counted: does one operation of a hot path repeatedly, so that its calls can be counted.
// The program is also its own tracker and its own workers.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <lastref/worker.hpp>

#include "bench/counted/counting_os.hpp"
#include "bench/counted/operations.hpp"

namespace {

using lastref::bench::CountingOs;
using lastref::bench::Operation;

constexpr int could_not = 2;

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  static auto& os = *new CountingOs({.program = lastref::this_program});
  const auto functions = lastref::bench::functions_of_operations();
  if (const auto code = lastref::run_if_spawned(os, *functions, arguments)) {
    return *code;
  }
  if (arguments.size() == 3 && arguments[1] == "--receive") {
    return lastref::bench::receive_counted(os, arguments[2]);
  }
  // Some paths check each open descriptor, so close those that are open by accident.
  static_cast<void>(::close_range(STDERR_FILENO + 1, ~0U, 0));
  const std::span<const Operation> all = lastref::bench::operations();
  const auto operation = std::ranges::find_if(
      all, [&](const Operation& each) { return argc == 3 && arguments[1] == each.name; });
  if (operation == all.end()) {
    std::fprintf(stderr, "lastref_counted OPERATION FOLDER\n");
    return could_not;
  }
  operation->perform({.os = os, .functions = functions, .folder = arguments[2]});
  return 0;
}
