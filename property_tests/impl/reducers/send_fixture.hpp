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
  /// As it arrives.
  static Reduction travel(const Sent& sent) {
    return must(decode_reduction(must(encode(sent.reduction))));
  }
  /// Sent, rebuilt by the worker, and said so.
  Array deliver(Sent sent) {
    Array rebuilt = must(receiver.rebuild(travel(sent)));
    if (sent.reference && !parent->is_attributed()) {
      sent.reference->hand_over();
    }
    return rebuilt;
  }
  Array send(const Array& array) { return deliver(must(forward->reduce(array))); }
  std::string file_of(const Sent& sent) const {
    return std::get<LoadTemporaryMemmap>(sent.reduction).filename;
  }

  /// The parent ends.
  void end() {
    forward.reset();
    resources.reset();
  }

  std::unique_ptr<ForwardReducer> forward;
  Receiver receiver{os, worker};
};

/// Of so many bytes, with the pattern.
inline Array patterned(std::size_t size) {
  Array array = must(Array::zeros(dtype_of("|u1"), {size}));
  fill_with_pattern(array.memory()->bytes());
  return array;
}

}  // namespace lastref::pretend
