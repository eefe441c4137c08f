#include "harness/cli/target.hpp"

#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

namespace lastref::harness {
namespace {

constexpr std::string_view standard_output = "-";

}  // namespace

Target::Target(std::string path) : path_(std::move(path)) {}

/// Processes that we start do not inherit it, and it is not a standard descriptor, even if those
/// are closed.
bool Target::open() {
  if (!wanted() || takes_standard_output()) {
    return true;
  }
  constexpr int standard_last = 2;
  std::vector<File> standard;
  do {
    standard.push_back(std::move(file_));
    file_.reset(std::fopen(path_.c_str(), "we"));  // With O_CLOEXEC
  } while (file_ && ::fileno(file_.get()) <= standard_last);
  return file_ != nullptr;
}

bool Target::write(const std::string& text) {
  if (takes_standard_output()) {
    std::cout << text << std::flush;
    return std::cout.good();
  }
  if (wanted()) {
    return std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
           std::fflush(file_.get()) == 0;
  }
  return true;
}

bool Target::takes_standard_output() const {
  return path_ == standard_output;
}

}  // namespace lastref::harness
