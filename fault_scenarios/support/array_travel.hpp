// array_travel: what scenarios about arrays on their way have in common: a parent that sends, and
// workers that receive. All that the product is asked goes through words of the Stage, so the
// oracles see it.
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

/// Refutes that an array that has arrived is what was sent.
void must_equal(Stage& stage, const Array& arrived, const Array& sent);

/// Refutes that a file lies in the spare folder, for shared memory could not be used.
void must_be_spare(Stage& stage, const std::string& path);

/// Refutes that an error helps its reader.
void must_name_the_variable(Stage& stage, const Error& error);

/// Refutes that the folder has one file and nothing else.
void must_hold_one_file(Stage& stage, const std::string& folder);

/// Bytes as a text, for words that carry them.
std::string text_of_bytes(os::Bytes bytes);

/// The references of the process of a Stage, through its words.
std::shared_ptr<References> references_of(Stage& stage);

/// A member of a tree that has a manager and a forward reducer. Its context is "call".
class Parent {
 public:
  explicit Parent(Stage& stage,
                  TemporaryResourcesOptions options = {},
                  std::shared_ptr<const Receiver> receiver = nullptr,
                  const ForwardOptions& arrays = {.max_nbytes = large});

  /// False if the manager could not be made.
  explicit operator bool() const noexcept { return resources_ != nullptr; }

  /// Reduces, keeps the reference of what is on its way, and sends it with the word.
  Status send(const std::string& word, const Array& array);
  /// What was sent with the word has arrived, or its receiver is dead.
  void arrived(const std::string& word);

  Status begin(const std::string& context);
  Status clean_up(CleanUpOptions options = {}, const std::optional<std::string>& context = {});
  TemporaryResources& resources() noexcept { return *resources_; }
  ForwardReducer& reducer() noexcept { return *reducer_; }
  /// The path of the file that was last sent; empty if it was none.
  const std::string& last_file() const noexcept { return last_file_; }

 private:
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

  /// Awaits the word and rebuilds what came with it. Says "<word> is here" when it has it, and when
  /// it cannot.
  std::optional<Array> receive(const std::string& word);

  const std::shared_ptr<Receiver>& receiver() const noexcept { return receiver_; }

 private:
  Stage& stage_;
  std::shared_ptr<Receiver> receiver_;
};

/// A role: a worker that receives numbered() with the word "array".
void receive_an_array(Stage& stage);

/// A role: a parent that sends numbered() with the word "array" to a "worker", its path with the
/// word "path", and lives on until it is killed.
void send_and_live_on(Stage& stage);

/// Awaits that a worker has said so.
inline void await_arrival(Stage& stage, const std::string& word) {
  stage.await(word + " is here");
}

}  // namespace lastref::harness
