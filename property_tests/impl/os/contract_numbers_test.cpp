// os_contract_numbers_test: 0, 1 and 2 belong to the host program, also those that it has closed.
#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::Running;
using contract::Scene;
using os::ChildExit;
using os::Fd;

class NumbersContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(NumbersContract);

TEST_P(NumbersContract, no_descriptor_is_0_1_or_2_whichever_of_them_are_closed_E1) {
  act([](Scene& scene) {
    for (const char* const closed : {"", "0", "1", "2", "01", "02", "12", "012"}) {
      Running child(scene.os(),
                    {.entry = "make_without",
                     .arguments = {closed, scene.folder()},
                     .fds = {},
                     .blocked = {}});
      EXPECT_EQ(child.end(), ChildExit{}) << "without " << closed;
    }
  });
}

}  // namespace
}  // namespace lastref
