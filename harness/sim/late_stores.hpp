// LateStores: which process sees the stores of another one, and when.
//
// One thread runs all processes of a simulated run, so each store would be visible to all at once.
// Real processors show stores to each other late, and in another order, unless the program requests
// an order. Therefore a write to a file that another process has mapped becomes visible to that
// process only when C++ guarantees it: the writer has released it, by a store or a change of a
// shared word with release order, and the other process has acquired. All calls except a write also
// release; those that may reveal actions of others acquire. A word may be late, too, but only until
// its process makes a call or ends an operation: by then all processes agree on its value.
//
// Implementation: the bytes of the file are always the latest stores. While a process runs, stores
// that it does not see yet are undone in place, so that it can read through its map as usual.
//
// Stronger than C++: a process that acquires anything sees everything that any process has
// released, whatever the word.
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

  /// All processes that may have mapped something; the list may grow.
  explicit LateStores(const Processes& processes) noexcept : processes_(processes) {}

  /// From here on memory is as this process sees it; no other process runs until `leave`.
  void enter(const SimProcess& process);
  void leave();

  /// These bytes of a file, previously `before`, have changed. All processes except the writer see
  /// that late, or at once if no other process has mapped the file.
  void add(const SimProcess& writer,
           const std::shared_ptr<Inode>& inode,
           std::uint64_t offset,
           std::string before,
           std::string after);
  /// Processes that acquire from now on see all that this process has stored; its words become
  /// visible to all.
  void release(const SimProcess& process);
  /// The process sees all that was released.
  void acquire(SimProcess& process);
  /// All processes see what was stored here: a process reads it by a call, or overwrites it.
  void settle(const Inode& inode, std::uint64_t offset, std::uint64_t size);

  /// The process is about to access the word at this offset of the file. If the word is changed,
  /// `is_late` returns whether the others see that late.
  void touch(SimProcess& process,
             const std::shared_ptr<Inode>& inode,
             std::uint64_t offset,
             const os::WordAccess& access,
             const std::function<bool()>& is_late);

  std::size_t size() const noexcept { return stores_.size(); }
  /// Whether the process has written bytes, other than words, that it has not released and that
  /// another process sees late.
  bool has_unreleased(const SimProcess& process) const noexcept;
  /// Whether there is a store that the process does not see yet.
  bool has_unseen(const SimProcess& process) const noexcept;
  /// Whether there is a store to these bytes that a process does not see yet.
  bool has_any(const Inode& inode, std::uint64_t offset, std::uint64_t size) const noexcept;

 private:
  struct Store {
    const SimProcess* writer = nullptr;
    std::shared_ptr<Inode> inode;
    std::uint64_t offset = 0;
    std::string before;
    std::string after;
    bool is_word = false;
    std::uint64_t released = 0;  ///< The number of the release; 0: none yet
  };

  void push(Store store);
  /// Makes these visible to all processes; the running one continues with its view.
  template <typename Which>
  void show(Which which);
  static bool sees(const SimProcess& process, const Store& store) noexcept;
  static bool overlaps(const Store& store,
                       const Inode& inode,
                       std::uint64_t offset,
                       std::uint64_t size) noexcept;
  bool is_seen_by_all(const Store& store) const;
  void drop_what_all_see();

  const Processes& processes_;
  std::vector<Store> stores_;  ///< The oldest first; no two overlap.
  const SimProcess* viewer_ = nullptr;
  std::uint64_t releases_ = 0;
};

}  // namespace lastref::harness::sim
