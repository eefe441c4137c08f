// allocation_test: whichever allocation fails while an array is sent, the process survives it, the
// caller gets an error, nothing is left, and the next one is sent.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lastref/reducers.hpp>

#include "property_tests/impl/reducers/unlinking_references.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/failing_memory.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::Armed;
using pretend::dtype_of;
using pretend::fail_each_allocation;
using pretend::must;
using pretend::SparedOs;
using pretend::SparedReferences;
using pretend::unless_no_memory;
using pretend::UnlinkingReferences;

/// A parent and its receiver, with a folder of their own.
struct Ends {
  Ends() {
    resources = must(TemporaryResources::make(os, references, {.root = folder.path()}));
    forward = std::make_unique<ForwardReducer>(
        os, references, resources, ForwardOptions{.max_nbytes = 100});
  }
  Result<Array> carry(const Array& array) {
    LASTREF_TRY(sent, forward->reduce(array));
    LASTREF_TRY(bytes, encode_reduction(sent.reduction));
    LASTREF_TRY(reduction, decode_reduction(bytes));
    LASTREF_TRY(arrived, receiver.rebuild(reduction));
    LASTREF_CHECK(sent.arrived());
    return arrived;
  }
  /// What is wrong after everything has been destroyed.
  std::string leftovers() {
    forward.reset();
    resources.reset();
    std::string finding;
    for (const std::string& name : folder.names()) {
      finding += " " + name + " is left;";
      folder.remove(name);
    }
    return finding + (counts->size() == 0 ? "" : " names are still counted;");
  }

  pretend::FreshFolder folder;
  SparedOs os;
  std::shared_ptr<UnlinkingReferences> counts = std::make_shared<UnlinkingReferences>(os);
  std::shared_ptr<References> references = std::make_shared<SparedReferences>(counts);
  std::shared_ptr<TemporaryResources> resources;
  std::unique_ptr<ForwardReducer> forward;
  Receiver receiver{os, references};
};

/// An array is sent twice, received, and destroyed.
pretend::Trial journey_of(const std::function<Array()>& make) {
  return [make](const Armed& armed) {
    Ends ends;
    Status status = ok();
    std::optional<Array> array = make();
    armed([&] {
      status = status_of(ends.carry(*array));
      if (status) {
        status = status_of(ends.carry(*array));
      }
      array.reset();
      if (status) {
        status = ends.forward->release_gone();
      }
    });
    std::string finding = unless_no_memory(status);
    array = make();
    {
      const auto again = ends.carry(*array);
      finding += again && contents_equal(*again, *array) ? "" : " it does not work afterwards;";
    }
    array.reset();
    finding += ends.forward->release_gone() ? "" : " what has gone is not released;";
    finding += ends.counts->size() <= 1 ? "" : " a file is still counted;";
    return finding + ends.leftovers();
  };
}

Array large() {
  Array array = must(Array::zeros(dtype_of("<i4"), {20, 10}));
  pretend::fill_with_pattern(array.memory()->bytes());
  return array;
}

TEST(FailingMemory, fails_no_journey_of_a_large_array_but_its_own_E10) {
  fail_each_allocation(journey_of(large));
}

TEST(FailingMemory, fails_no_journey_of_a_transposed_view_but_its_own_E10) {
  fail_each_allocation(journey_of([] { return must(large().transpose()); }));
}

TEST(FailingMemory, fails_no_journey_of_a_repeated_array_but_its_own_E10) {
  fail_each_allocation(journey_of([] { return must(large().broadcast_to({3, 20, 10})); }));
}

TEST(FailingMemory, fails_no_journey_of_a_small_array_but_its_own_E10) {
  fail_each_allocation(journey_of([] { return must(Array::zeros(dtype_of("<i4"), {5})); }));
}

}  // namespace
}  // namespace lastref
