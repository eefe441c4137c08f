// LateStores: which process sees what another one has stored, and when.
//
// One thread runs all processes of a simulated run, so all would see each store at once. Real
// processors show stores to each other late, and in another order, unless the program asks for
// order. So what a process writes to a file that somebody has mapped is shown to another only when
// C++ says that this one sees it: the writer has released it, by a store or a change of a shared
// word in that order, and the other has acquired. All calls but a write release as well, and those
// acquire that may tell of others. A word may be late, too, but only until its process makes a call
// or ends an operation: the others agree by then on what is in it.
//
// How: the bytes of the file are always what was stored last. While a process runs, what it does
// not see yet is taken back in place, so that it can read through its map as ever.
//
// Stronger than C++: who acquires anything sees all that anybody has released, whatever the word.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness::sim {

struct Inode;
struct SimProcess;

class LateStores {
 public:
  using Processes = std::vector<std::shared_ptr<SimProcess>>;

  /// All that may have mapped something; the list may grow.
  explicit LateStores(const Processes& processes) noexcept : processes_(processes) {}

  /// From here on memory is as this process sees it; until `leave` nobody else runs.
  void enter(const SimProcess& process);
  void leave();

  /// That these bytes of a file are no longer those `before`, all but the writer see late; at once
  /// if nobody else has mapped it.
  void add(const SimProcess& writer,
           const std::shared_ptr<Inode>& inode,
           std::uint64_t offset,
           std::string before,
           std::string after);
  /// Who acquires from now on sees all that this process has stored; its words everybody sees.
  void release(const SimProcess& process);
  /// It sees all that was released.
  void acquire(SimProcess& process);
  /// Everybody sees what was stored here: somebody reads it by a call, or writes over it.
  void settle(const Inode& inode, std::uint64_t offset, std::uint64_t size);

  /// The process is about to touch the word at this place of the file; if it changes it, `is_late`
  /// says whether the others see that late.
  void touch(SimProcess& process,
             const std::shared_ptr<Inode>& inode,
             std::uint64_t offset,
             const os::WordAccess& access,
             const std::function<bool()>& is_late);

  std::size_t size() const noexcept { return stores_.size(); }
  /// Whether it has written bytes, besides words, that it has not released and somebody sees late.
  bool has_unreleased(const SimProcess& process) const noexcept;

 private:
  struct Store {
    const SimProcess* writer = nullptr;
    std::shared_ptr<Inode> inode;
    std::uint64_t offset = 0;
    std::string before;
    std::string after;
    bool is_word = false;
    std::uint64_t released = 0;  ///< Which release it was; 0: none yet
  };

  void push(Store store);
  /// Everybody sees these; whoever runs goes on with what it sees.
  template <typename Which>
  void show(Which which);
  static bool sees(const SimProcess& process, const Store& store) noexcept;
  bool is_seen_by_all(const Store& store) const;
  void drop_what_all_see();

  const Processes& processes_;
  std::vector<Store> stores_;  ///< The oldest first; no two overlap.
  const SimProcess* viewer_ = nullptr;
  std::uint64_t releases_ = 0;
};

}  // namespace lastref::harness::sim
