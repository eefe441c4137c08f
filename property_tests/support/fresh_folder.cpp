#include "property_tests/support/fresh_folder.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

namespace lastref::pretend {

namespace fs = std::filesystem;

std::string unique_text() {
  os::KernelOs os;
  std::array<std::byte, 8> bytes{};
  EXPECT_TRUE(os.entropy(bytes));
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "lastref_";
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<std::size_t>(byte >> 4)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

FreshFolder::FreshFolder() : path_((fs::temp_directory_path() / unique_text()).string()) {
  fs::create_directory(path_);
  fs::permissions(path_, fs::perms::owner_all);
}

FreshFolder::~FreshFolder() {
  if (std::uncaught_exceptions() == 0) {
    EXPECT_THAT(names(), testing::IsEmpty());
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool FreshFolder::exists(const std::string& name) const {
  return fs::symlink_status(path(name)).type() != fs::file_type::not_found;
}

void FreshFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string FreshFolder::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path(name), std::ios::binary).rdbuf();
  return text.str();
}

void FreshFolder::remove(const std::string& name) const {
  fs::remove_all(path(name));
}

void FreshFolder::make_folder(const std::string& name) const {
  fs::create_directories(path(name));
}

void FreshFolder::link(const std::string& name, const std::string& target) const {
  fs::create_symlink(target, path(name));
}

std::vector<std::string> FreshFolder::names() const {
  std::vector<std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    all.push_back(entry.path().lexically_relative(path_).string());
  }
  std::ranges::sort(all);
  return all;
}

WorkingFolder::WorkingFolder(const std::string& path) : before_(fs::current_path()) {
  fs::current_path(path);
}

WorkingFolder::~WorkingFolder() {
  fs::current_path(before_);
}

Nowhere::Nowhere() {
  folder_.make_folder("gone");
  inside_.emplace(folder_.path("gone"));
  folder_.remove("gone");
}

}  // namespace lastref::pretend
