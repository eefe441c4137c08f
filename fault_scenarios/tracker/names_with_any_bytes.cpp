#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource victim = product.file("victim.bin");
  const std::vector<Resource> odd = {
      product.file("a:file\nMAYBE_UNLINK:victim.bin:file\n"),
      product.file("donn\xc3\xa9"
                   "es avec accent"),
      product.file(std::string(255, 'n')),
      product.file("\x01\xff\x7f"),
  };
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(victim));
  LASTREF_CHECK(product.make(victim));
  for (const Resource& resource : odd) {
    LASTREF_CHECK(product.register_name(resource));
    LASTREF_CHECK(product.make(resource));
  }
  Status released;
  for (const Resource& resource : odd) {
    released = first_failure({released, product.release(resource)});
  }
  const Status probed = product.client().probe();
  product.must_exist(victim);
  const Resource empty{.type = ResourceType::file, .name = ""};
  const Resource with_nul{.type = ResourceType::file, .name = std::string("a\0b", 3)};
  const Resource long_one{.type = ResourceType::file, .name = std::string(name_size_max + 1, 'x')};
  for (const Resource& impossible : {empty, with_nul, long_one}) {
    if (product.client().register_name(impossible) || product.client().hold(impossible) ||
        product.client().release(impossible) || product.client().forget(impossible)) {
      stage.refute("T2: a name that cannot be sent is a typed error", to_text(impossible));
    }
  }
  return first_failure({released, probed, product.release(victim)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Names with line breaks, colons, commands and bytes beyond ASCII refer to themselves and "
          "nothing else.",
      .rows = {"T2"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
