// array_travel: shared parts of scenarios that send arrays: a parent that sends, and workers that
// receive. All requests to the product are operations of the Stage's Product, so the oracles see
// them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lastref/reducers.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// bytes; larger arrays travel through a file in these scenarios.
inline constexpr std::uint64_t large = 1000;

/// bytes; the unit of file systems.
inline constexpr std::uint64_t page_size = 4096;

/// Elements of an array, four bytes each: of an empty one, one that is just not `large`, and one
/// that just is.
inline constexpr Parameter<std::uint32_t> element_count = {
    .name = "elements", .usual = 1000, .values = {0, 250, 251, 1000}, .unit = "of 4 bytes"};
/// The same for arrays that have to be large: one, and one that ends within a second page.
inline constexpr Parameter<std::uint32_t> large_element_count = {
    .name = "elements", .usual = 1000, .values = {251, 1000, 1025}, .unit = "of 4 bytes"};

/// Elements "<i4": 0, 1, 2, ... times `factor`.
Array numbered(std::uint32_t factor = 1, std::uint32_t count = element_count.usual);
/// The first 400 of them: `large`, and few enough for a message that has to carry them by value,
/// which happens when the sender no longer finds the file that it has mapped.
Array few_numbered();

/// A user's file with this array in it; not a temporary one.
///
/// Errors          those of open, write_npy and close.
[[nodiscard]] Status dump(Stage& stage, const std::string& path, const Array& elements);

/// The number of folders of temporary arrays in the folder of the run.
std::int64_t folders_of_arrays(Stage& stage);

/// Checks, in an undisturbed run, that the tracker counts no resource of these types for this
/// process.
void must_count_none(Stage& stage,
                     std::initializer_list<ResourceType> types,
                     const std::string& claim);

/// Checks that what travels by a temporary file has a reference of its own.
void must_have_reference(Stage& stage, const Sent& sent);

/// Checks that an array that has arrived equals the one sent.
void must_equal(Stage& stage, const Array& arrived, const Array& sent);

/// Checks that the file is in the spare folder, because shared memory could not be used.
void must_be_spare(Stage& stage, const std::string& path);

/// Checks that an error names the variable that its reader can set.
void must_name_the_variable(Stage& stage, const Error& error);

/// Checks that the folder contains exactly one file.
void must_hold_one_file(Stage& stage, const std::string& folder);

/// Bytes as a text, for signals that carry them.
std::string text_of_bytes(os::Bytes bytes);

/// The references of the process of a Stage, recorded as its operations.
std::shared_ptr<References> references_of(Stage& stage);

/// A member of a tree that has a manager and a forward reducer. Its context is "call".
class Parent {
 public:
  /// Errors          those of TemporaryResources::make.
  static Result<Parent> make(Stage& stage,
                             TemporaryResourcesOptions options = {},
                             std::shared_ptr<const Receiver> receiver = nullptr,
                             const ForwardOptions& arrays = {.max_nbytes = large});

  /// Reduces, keeps the reference of the array in transit, and sends it with the signal.
  [[nodiscard]] Status send(const std::string& signal, const Array& array);
  /// Waits until what was sent with the signal has arrived, or its receiver is dead.
  [[nodiscard]] Status arrived(const std::string& signal);

  [[nodiscard]] Status begin(const std::string& context);
  [[nodiscard]] Status clean_up(CleanUpOptions options = {},
                                const std::optional<std::string>& context = {});
  TemporaryResources& resources() noexcept { return *resources_; }
  ForwardReducer& reducer() noexcept { return *reducer_; }
  /// The path of the file that was last sent; empty if the last array had none.
  const std::string& last_file() const noexcept { return last_file_; }

 private:
  Parent(Stage& stage,
         std::shared_ptr<TemporaryResources> resources,
         std::unique_ptr<ForwardReducer> reducer)
      : stage_(stage), resources_(std::move(resources)), reducer_(std::move(reducer)) {}

  Stage& stage_;
  std::shared_ptr<TemporaryResources> resources_;
  std::unique_ptr<ForwardReducer> reducer_;
  std::map<std::string, Sent> in_transit_;
  std::string last_file_;
};

/// A member of a tree that receives.
class Worker {
 public:
  explicit Worker(Stage& stage);

  /// Awaits the signal and rebuilds the array that came with it. Then gives "<signal> has arrived",
  /// even if it failed.
  [[nodiscard]] Result<Array> receive(const std::string& signal);

  const std::shared_ptr<Receiver>& receiver() const noexcept { return receiver_; }
  /// The path of the file by which the last array came; empty if it had none.
  const std::string& last_file() const noexcept { return last_file_; }

 private:
  Stage& stage_;
  std::shared_ptr<Receiver> receiver_;
  std::string last_file_;
};

/// A role: a worker that receives numbered() with each of the signals, even if one fails.
Status receive_arrays(Stage& stage, std::initializer_list<const char*> signals);
/// The same with the signal "array".
Status receive_an_array(Stage& stage);

/// A role: a parent that sends numbered() with the signal "array" to a "worker", its path with the
/// signal "path", and stays alive until it is killed.
Status send_and_stay_alive(Stage& stage);

/// Awaits a worker's report of the arrival.
inline void await_arrival(Stage& stage, const std::string& signal) {
  stage.await(signal + " has arrived");
}

}  // namespace lastref::harness
