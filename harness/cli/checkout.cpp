#include "harness/cli/checkout.hpp"

#include <filesystem>
#include <system_error>

namespace lastref::harness {

std::string checkout_of_program() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error);
  while (!folder.empty() && folder != folder.root_path()) {
    folder = folder.parent_path();
    if (std::filesystem::is_directory(folder / mutants_folder, error)) {
      return folder;
    }
  }
  return {};
}

}  // namespace lastref::harness
