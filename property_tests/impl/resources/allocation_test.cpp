// allocation_test: whichever allocation fails in a manager of temporary files, the process survives
// it, the caller gets an error, nothing is left, and the next call succeeds.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <lastref/joblib.hpp>
#include <lastref/owners.hpp>
#include <lastref/temporary_resources.hpp>

#include "property_tests/support/counts.hpp"
#include "property_tests/support/failing_memory.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::Armed;
using pretend::fail_each_allocation;
using pretend::SparedOs;
using pretend::SparedReferences;
using pretend::unless_no_memory;

using End = std::function<Status(TemporaryResources&, const std::optional<std::string>& context)>;

/// The life of a context with two files, which ends as `end` demands.
struct Life {
  Status live(TemporaryResourcesOptions&& options) const {
    LASTREF_TRY(resources, TemporaryResources::make(os, references, std::move(options)));
    LASTREF_CHECK(resources->set_current_context(*context));
    LASTREF_TRY(file, resources->publish(write));
    LASTREF_TRY(reference, resources->lend(*file));
    LASTREF_CHECK(reference->release());
    LASTREF_TRY(other, resources->publish(write));
    LASTREF_CHECK(resources->release(*other));
    LASTREF_TRY(folder, resources->resolve_temp_folder_name());
    return end(*resources, context);
  }

  os::Os& os;
  std::shared_ptr<References> references;
  End end;
  std::optional<std::string> context = "a context with a name that is no short string";
  std::function<Status(os::Fd)> write = [this](os::Fd file) {
    return os::write_all(os, file, os::bytes_of("text"));
  };
};

pretend::Trial lives_that_end_by(const End& end) {
  return [end](const Armed& armed) {
    pretend::FreshFolder folder;
    SparedOs os;
    pretend::Counts counts;
    const Life life{.os = os,
                    .references = std::make_shared<SparedReferences>(counts.party("parent")),
                    .end = end};
    TemporaryResourcesOptions options = {.root = folder.path("below/the/root")};
    TemporaryResourcesOptions same = options;
    Status status = ok();
    armed([&] { status = life.live(std::move(options)); });
    std::string finding = unless_no_memory(status);
    const Status again = life.live(std::move(same));
    finding += again ? "" : " afterwards: " + describe(again.error());
    for (const std::string& name : folder.names()) {
      finding += name == "below" || name == "below/the" || name == "below/the/root"
                     ? ""
                     : " " + name + " is left;";
    }
    folder.remove("below");
    for (const std::string& misuse : counts.misuse) {
      finding += " " + misuse + ";";
    }
    return finding + (counts.empty() ? "" : " names are still counted;");
  };
}

TEST(FailingMemory, fails_no_manager_whose_folder_is_unlinked_E10) {
  fail_each_allocation(lives_that_end_by([](auto& resources, const auto& context) {
    return joblib::TemporaryResourcesManager(resources).unlink_temporary_resources(context);
  }));
}

TEST(FailingMemory, fails_no_manager_whose_folder_is_cleaned_by_force_E10) {
  fail_each_allocation(lives_that_end_by(
      [](auto& resources, const auto&) { return resources.clean_up({}, {.force = true}); }));
}

TEST(FailingMemory, fails_no_manager_whose_folder_is_deleted_E10) {
  fail_each_allocation(lives_that_end_by([](auto& resources, const auto&) {
    return joblib::TemporaryResourcesManager(resources).try_delete_folder(/*allow_non_empty=*/true);
  }));
}

TEST(FailingMemory, fails_no_manager_that_ends_with_all_it_has_E10) {
  fail_each_allocation(lives_that_end_by([](auto&, const auto&) { return ok(); }));
}

}  // namespace
}  // namespace lastref
