// array_travel: what scenarios about arrays on their way have in common: a parent that sends, and
// workers that receive. All that the product is asked is an operation of the Stage's Product,
// so the oracles see it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lastref/reducers.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// bytes; what is larger travels through a file in these scenarios.
inline constexpr std::uint64_t large = 1000;

/// bytes; what file systems count in.
inline constexpr std::uint64_t page_size = 4096;

/// 1,000 elements "<i4": 0, 1, 2, ... times `factor`.
Array numbered(std::uint32_t factor = 1);
/// The first 400 of them: `large`, and few enough for a message that has to carry them by value, as
/// it does when the sender cannot find the file any more that it has mapped.
Array few_numbered();

/// The file of a user, with this array in it; no temporary.
///
/// Errors          what open, write_npy and close said.
[[nodiscard]] Status dump(Stage& stage, const std::string& path, const Array& elements);

/// How many folders of temporary arrays are in the folder of the run.
std::int64_t folders_of_arrays(Stage& stage);

/// Refutes that an array that has arrived is what was sent.
void must_equal(Stage& stage, const Array& arrived, const Array& sent);

/// Refutes that a file lies in the spare folder, for shared memory could not be used.
void must_be_spare(Stage& stage, const std::string& path);

/// Refutes that an error helps its reader.
void must_name_the_variable(Stage& stage, const Error& error);

/// Refutes that the folder has one file and nothing else.
void must_hold_one_file(Stage& stage, const std::string& folder);

/// Bytes as a text, for signals that carry them.
std::string text_of_bytes(os::Bytes bytes);

/// The references of the process of a Stage, noted as its operations.
std::shared_ptr<References> references_of(Stage& stage);

/// A member of a tree that has a manager and a forward reducer. Its context is "call".
class Parent {
 public:
  /// Errors          those of TemporaryResources::make.
  static Result<Parent> make(Stage& stage,
                             TemporaryResourcesOptions options = {},
                             std::shared_ptr<const Receiver> receiver = nullptr,
                             const ForwardOptions& arrays = {.max_nbytes = large});

  /// Reduces, keeps the reference of what is on its way, and sends it with the signal.
  [[nodiscard]] Status send(const std::string& signal, const Array& array);
  /// What was sent with the signal has arrived, or its receiver is dead.
  [[nodiscard]] Status arrived(const std::string& signal);

  [[nodiscard]] Status begin(const std::string& context);
  [[nodiscard]] Status clean_up(CleanUpOptions options = {},
                                const std::optional<std::string>& context = {});
  TemporaryResources& resources() noexcept { return *resources_; }
  ForwardReducer& reducer() noexcept { return *reducer_; }
  /// The path of the file that was last sent; empty if it was none.
  const std::string& last_file() const noexcept { return last_file_; }

 private:
  Parent(Stage& stage,
         std::shared_ptr<TemporaryResources> resources,
         std::unique_ptr<ForwardReducer> reducer)
      : stage_(stage), resources_(std::move(resources)), reducer_(std::move(reducer)) {}

  Stage& stage_;
  std::shared_ptr<TemporaryResources> resources_;
  std::unique_ptr<ForwardReducer> reducer_;
  std::map<std::string, Sent> on_their_way_;
  std::string last_file_;
};

/// A member of a tree that receives.
class Worker {
 public:
  explicit Worker(Stage& stage);

  /// Awaits the signal and rebuilds what came with it. Tells "<signal> is here" when it has it, and
  /// when it cannot.
  [[nodiscard]] Result<Array> receive(const std::string& signal);

  const std::shared_ptr<Receiver>& receiver() const noexcept { return receiver_; }

 private:
  Stage& stage_;
  std::shared_ptr<Receiver> receiver_;
};

/// A role: a worker that receives numbered() with the signal "array".
Status receive_an_array(Stage& stage);

/// A role: a parent that sends numbered() with the signal "array" to a "worker", its path with
/// the signal "path", and lives on until it is killed.
Status send_and_live_on(Stage& stage);

/// Awaits that a worker has told so.
inline void await_arrival(Stage& stage, const std::string& signal) {
  stage.await(signal + " is here");
}

}  // namespace lastref::harness
