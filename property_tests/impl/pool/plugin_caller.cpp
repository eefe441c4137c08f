// plugin_caller: a program that knows nothing of lastref, and calls a plugin that uses it.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdio>

int main(int /*count*/, char** arguments) {
  void* const plugin = ::dlopen(arguments[1], RTLD_NOW);
  if (plugin == nullptr) {
    std::puts(::dlerror());
    return 1;
  }
  using Halves = double (*)(const double*, std::size_t);
  const auto halves = reinterpret_cast<Halves>(::dlsym(plugin, "halves"));
  constexpr std::array<double, 2> values = {3, 8};
  std::printf("%g\n", halves(values.data(), values.size()));
  // Its pool ends with it.
  return ::dlclose(plugin);
}
