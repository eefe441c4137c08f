#include "fault_scenarios/support/trees.hpp"

namespace lastref::harness {

Status enter_tree(Stage& stage) {
  if (stage.value(tree_starter) == TreeStarter::root) {
    return stage.product().lead();
  }
  LASTREF_CHECK(stage.start("leader"));
  LASTREF_TRY(tree, stage.receive("tree"));
  return stage.product().join(tree);
}

Status lead_tree(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(tree, stage.product().client().tree());
  stage.send("tree", tree);
  stage.wait_for_quiet();
  return ok();
}

Resource resource_of(Stage& stage, const std::string& name) {
  const Product& product = stage.product();
  switch (stage.value(name_type)) {
    case NameType::file:
      return product.file(name);
    case NameType::folder:
      return product.folder(name);
    case NameType::semaphore:
      return product.semaphore("lastref-" + name);
    case NameType::shared_memory:
      return product.shm("lastref-" + name);
  }
  return {};
}

std::vector<Resource> files_of(Stage& stage, const std::string& name) {
  std::vector<Resource> files;
  const std::size_t count = stage.value(name_count);
  for (std::size_t number = 1; number <= count; ++number) {
    files.push_back(stage.product().file(number == 1 ? name : std::to_string(number) + '_' + name));
  }
  return files;
}

Status make_all(Stage& stage, const std::vector<Resource>& resources) {
  for (const Resource& each : resources) {
    LASTREF_CHECK(stage.product().register_name(each));
    LASTREF_CHECK(stage.product().make(each));
  }
  return ok();
}

Status hold_all(Stage& stage, const std::vector<Resource>& resources) {
  for (const Resource& each : resources) {
    LASTREF_CHECK(stage.product().hold(each));
  }
  return ok();
}

void must_all_exist(Stage& stage, const std::vector<Resource>& resources) {
  for (const Resource& each : resources) {
    stage.product().must_exist(each);
  }
}

Status release_all(Stage& stage, const std::vector<Resource>& resources) {
  Status released;
  for (const Resource& each : resources) {
    released = first_failure({released, stage.product().release(each)});
  }
  return released;
}

}  // namespace lastref::harness
