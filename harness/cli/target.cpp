#include "harness/cli/target.hpp"

#include <iostream>
#include <string_view>
#include <utility>

namespace lastref::harness {
namespace {

constexpr std::string_view standard_output = "-";

}  // namespace

Target::Target(std::string path) : path_(std::move(path)) {}

bool Target::open() {
  if (wanted() && !takes_standard_output()) {
    file_.open(path_, std::ios::binary | std::ios::trunc);
    return file_.is_open();
  }
  return true;
}

bool Target::write(const std::string& text) {
  if (takes_standard_output()) {
    std::cout << text << std::flush;
    return std::cout.good();
  }
  if (wanted()) {
    file_ << text << std::flush;
    return file_.good();
  }
  return true;
}

bool Target::takes_standard_output() const {
  return path_ == standard_output;
}

}  // namespace lastref::harness
