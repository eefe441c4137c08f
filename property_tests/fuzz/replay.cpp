// replay: calls one target with every file that it is given, and with every file in a folder that
// it is given. It prints each name first: the last one printed is the one that ended it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_in(std::span<char* const> words) {
  std::vector<fs::path> inputs;
  for (const char* const word : words) {
    if (!fs::is_directory(word)) {
      inputs.emplace_back(word);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(word)) {
      inputs.push_back(entry.path());
    }
  }
  std::ranges::sort(inputs);
  return inputs;
}

bool replay(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) {
    std::cerr << "cannot read " << path.string() << '\n';
    return false;
  }
  // From heap memory that ends where the input ends.
  const std::unique_ptr<std::uint8_t[]> alone(new std::uint8_t[text.size()]);
  std::ranges::copy(text, alone.get());
  std::cout << path.string() << std::endl;
  LLVMFuzzerTestOneInput(alone.get(), text.size());
  return true;
}

}  // namespace

int main(int count, char** words) {
  const auto inputs = inputs_in(std::span(words, static_cast<std::size_t>(count)).subspan(1));
  if (inputs.empty()) {
    std::cerr << "give files, or a folder that has some\n";
    return 2;
  }
  const bool all_read = std::ranges::all_of(inputs, replay);
  std::cout << inputs.size() << " inputs\n";
  return all_read ? 0 : 2;
}
