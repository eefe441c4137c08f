// counter: adds 1 to the number in a file.
//
//   counter FILE
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

long read(const std::string& path) {
  long number = 0;
  if (std::FILE* const file = std::fopen(path.c_str(), "r")) {
    if (std::fscanf(file, "%ld", &number) != 1) {
      number = 0;
    }
    std::fclose(file);
  }
  return number;
}

/// Replaces the file at once, so that a reader sees the old number or the new one.
bool write(const std::string& path, long number) {
  const std::string made = path + ".new";
  std::FILE* const file = std::fopen(made.c_str(), "w");
  if (file == nullptr) {
    return false;
  }
  bool is_written = std::fprintf(file, "%ld\n", number) > 0;
  is_written = std::fclose(file) == 0 && is_written;
  if (is_written && std::rename(made.c_str(), path.c_str()) == 0) {
    return true;
  }
  std::remove(made.c_str());
  return false;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("counter FILE\n", stderr);
    return 2;
  }
  const std::string path = words[1];
  return write(path, read(path) + 1) ? 0 : 1;
}
