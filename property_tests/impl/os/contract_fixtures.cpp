// os_contract_fixtures: every implementation of Os, and the program that runs the contract on them.
#include <filesystem>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {
namespace {

/// The real one: the test runs in this process, children execute this program again.
class KernelFixture final : public Fixture {
 public:
  void run(const std::function<void(os::Os&)>& body) override { body(os_); }
  std::string base() const override { return std::filesystem::temp_directory_path(); }
  void plant_symlink(const std::string& path, const std::string& target) override {
    std::filesystem::create_symlink(target, path);
  }

 private:
  os::KernelOs os_{{.program = "/proc/self/exe"}};
};

}  // namespace

FixtureRow kernel_fixture() {
  return {.name = "kernel",
          .make = []() -> std::unique_ptr<Fixture> { return std::make_unique<KernelFixture>(); }};
}

const std::vector<FixtureRow>& fixtures() {
  static const std::vector<FixtureRow> rows = {kernel_fixture(), gate_fixture(), sim_fixture()};
  return rows;
}

}  // namespace lastref::contract

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  for (const auto& entry : lastref::contract::entries()) {
    if (argc > 1 && words[1] == entry.name) {
      // Exists as long as the actions that it registers for the end of the process.
      static lastref::os::KernelOs os({.program = "/proc/self/exe"});
      return entry.run(os, std::span(words).subspan(2));
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
