// SendFixture: a parent with a forward reducer, and a worker that receives from it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <lastref/reducers.hpp>

#include "property_tests/impl/resources/manager_fixture.hpp"

namespace lastref::pretend {

struct SendFixture : ManagerFixture {
  explicit SendFixture(const ForwardOptions& options = {.max_nbytes = 100}, bool attributed = true)
      : ManagerFixture(attributed),
        forward(std::make_unique<ForwardReducer>(os, parent, resources, options)) {}

  ForwardReducer reducer(const ForwardOptions& options) { return {os, parent, resources, options}; }
  /// The reduction as it arrives.
  static Reduction travel(const Sent& sent) {
    return must(decode_reduction(must(encode_reduction(sent.reduction))));
  }
  /// Sends it, rebuilds it in the worker, and reports its arrival.
  Array deliver(Sent sent) {
    Array rebuilt = must(receiver.rebuild(travel(sent)));
    if (sent.reference && !parent->is_attributed()) {
      sent.reference->release_ownership();
    }
    return rebuilt;
  }
  Array send(const Array& array) { return deliver(must(forward->reduce(array))); }
  std::string file_of(const Sent& sent) const {
    return std::get<LoadTemporaryMemmap>(sent.reduction).filename;
  }

  /// Ends the parent.
  void end() {
    forward.reset();
    resources.reset();
  }

  std::unique_ptr<ForwardReducer> forward;
  Receiver receiver{os, worker};
};

/// An array of that many bytes, with the pattern.
inline Array patterned(std::size_t size) {
  Array array = must(Array::zeros(dtype_of("|u1"), {size}));
  fill_with_pattern(array.memory()->bytes());
  return array;
}

}  // namespace lastref::pretend
