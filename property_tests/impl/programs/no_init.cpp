// no_init: a program that forgets lastref::init is told what is missing, and starts no process.
#include <cstdio>
#include <vector>

#include <lastref/pool.hpp>

int half(int value) {
  return value / 2;
}

int main() {
  lastref::Pool pool;
  const auto halves = pool.map<half>(std::vector<int>{2, 4});
  std::printf("%s\n", halves.error().what().c_str());
}
