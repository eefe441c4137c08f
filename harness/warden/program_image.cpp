#include "harness/warden/program_image.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/elf_functions.hpp"

namespace lastref::harness::warden {
namespace {

UniqueFd open_mapped(int process, const Mapping& mapping) {
  // The process may have another root. Its name may be a pipe by now, which would wait.
  UniqueFd file(::open(fmt::format("/proc/{}/root{}", process, mapping.path).c_str(),
                       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  const bool is_mapped = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_ino == mapping.inode;
  return is_mapped ? std::move(file) : UniqueFd();
}

/// "ns::run" for "_ZN2ns3runEi"
std::string function_of(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) {
    return symbol;
  }
  const std::string_view name = text.get();
  std::size_t at = name.rfind(')');
  for (std::size_t depth = 0; at != std::string_view::npos && at > 0; --at) {
    depth += name[at] == ')' ? 1U : 0U;
    depth -= name[at] == '(' ? 1U : 0U;
    if (depth == 0) {
      return std::string(name.substr(0, at));
    }
  }
  return std::string(name);
}

}  // namespace

ProgramImage::ProgramImage(int process, const Mapping& mapping)
    : path_(mapping.path), file_(open_mapped(process, mapping)), rules_(file_.get()) {}

void ProgramImage::read_functions() {
  if (std::exchange(has_read_functions_, true)) {
    return;
  }
  for_each_function(file_.get(), [this](const ElfFunction& function) {
    functions_.push_back(
        {.begin = function.address, .size = function.size, .symbol = std::string(function.name)});
  });
  std::ranges::stable_sort(functions_, {}, &Function::begin);
}

std::string ProgramImage::place_of(std::uint64_t address) {
  read_functions();
  // A call may be the last instruction of a function.
  const auto after = std::ranges::upper_bound(functions_, address - 1, {}, &Function::begin);
  const auto function = after == functions_.begin() ? functions_.end() : std::prev(after);
  const std::string name = path_.substr(path_.rfind('/') + 1);
  const bool is_known = function != functions_.end() && address - function->begin <= function->size;
  return is_known
             ? fmt::format(
                   "{}+{:#x} ({})", function_of(function->symbol), address - function->begin, name)
             : fmt::format("{}+{:#x}", name, address);
}

std::optional<std::uint64_t> ProgramImage::object(const std::string& symbol) {
  const auto [known, is_new] = objects_.try_emplace(symbol);
  if (is_new) {
    known->second = address_of_object(file_.get(), symbol);
  }
  return known->second;
}

}  // namespace lastref::harness::warden
