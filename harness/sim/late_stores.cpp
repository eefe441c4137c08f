#include "harness/sim/late_stores.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool acquires(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool has_mapped(const SimProcess& process, const Inode& inode) {
  return std::ranges::any_of(process.maps,
                             [&](const Map& map) { return map.inode.get() == &inode; });
}

std::string bytes_of(std::uint64_t word) {
  std::string bytes(word_size, '\0');
  std::memcpy(bytes.data(), &word, word_size);
  return bytes;
}

void put_back(Inode& inode, std::uint64_t offset, const std::string& bytes) noexcept {
  std::memcpy(inode.bytes.data() + offset, bytes.data(), bytes.size());
}

}  // namespace

bool LateStores::sees(const SimProcess& process, const Store& store) noexcept {
  return store.writer == &process || (store.released != 0 && process.acquired >= store.released);
}

void LateStores::enter(const SimProcess& process) {
  viewer_ = &process;
  for (const Store& store : stores_) {
    if (!sees(process, store)) {
      put_back(*store.inode, store.offset, store.before);
    }
  }
}

void LateStores::leave() {
  if (viewer_ == nullptr) {
    return;
  }
  for (const Store& store : stores_) {
    if (!sees(*viewer_, store)) {
      put_back(*store.inode, store.offset, store.after);
    }
  }
  viewer_ = nullptr;
}

bool LateStores::is_seen_by_all(const Store& store) const {
  return std::ranges::all_of(processes_, [&](const auto& each) {
    return sees(*each, store) || !has_mapped(*each, *store.inode);
  });
}

void LateStores::add(const SimProcess& writer,
                     const std::shared_ptr<Inode>& inode,
                     std::uint64_t offset,
                     std::string before,
                     std::string after) {
  LASTREF_ASSERT(before.size() == after.size());
  push({.writer = &writer,
        .inode = inode,
        .offset = offset,
        .before = std::move(before),
        .after = std::move(after)});
}

void LateStores::push(Store store) {
  if (!is_seen_by_all(store)) {
    stores_.push_back(std::move(store));
  }
}

template <typename Which>
void LateStores::show(Which which) {
  if (std::ranges::none_of(stores_, which)) {
    return;
  }
  const SimProcess* const viewer = viewer_;
  leave();
  std::erase_if(stores_, which);
  if (viewer != nullptr) {
    enter(*viewer);
  }
}

void LateStores::drop_what_all_see() {
  show([&](const Store& store) { return is_seen_by_all(store); });
}

void LateStores::release(const SimProcess& process) {
  if (stores_.empty()) {
    return;
  }
  show([&](const Store& store) { return store.writer == &process && store.is_word; });
  ++releases_;
  for (Store& store : stores_) {
    if (store.writer == &process && store.released == 0) {
      store.released = releases_;
    }
  }
  drop_what_all_see();
}

void LateStores::acquire(SimProcess& process) {
  if (stores_.empty()) {
    return;
  }
  const SimProcess* const viewer = viewer_;
  leave();
  process.acquired = releases_;
  drop_what_all_see();
  if (viewer != nullptr) {
    enter(*viewer);
  }
}

bool LateStores::has_unreleased(const SimProcess& process) const noexcept {
  return std::ranges::any_of(stores_, [&](const Store& store) {
    return store.writer == &process && store.released == 0 && !store.is_word;
  });
}

bool LateStores::has_unseen(const SimProcess& process) const noexcept {
  return std::ranges::any_of(stores_, [&](const Store& store) { return !sees(process, store); });
}

bool LateStores::overlaps(const Store& store,
                          const Inode& inode,
                          std::uint64_t offset,
                          std::uint64_t size) noexcept {
  return store.inode.get() == &inode && store.offset < offset + size &&
         offset < store.offset + store.before.size();
}

bool LateStores::has_any(const Inode& inode,
                         std::uint64_t offset,
                         std::uint64_t size) const noexcept {
  return std::ranges::any_of(
      stores_, [&](const Store& store) { return overlaps(store, inode, offset, size); });
}

void LateStores::settle(const Inode& inode, std::uint64_t offset, std::uint64_t size) {
  show([&](const Store& store) { return overlaps(store, inode, offset, size); });
}

void LateStores::touch(SimProcess& process,
                       const std::shared_ptr<Inode>& inode,
                       std::uint64_t offset,
                       const os::WordAccess& access,
                       const std::function<bool()>& is_late) {
  const bool reads_only = access.step == Step::word_load;
  if (!reads_only) {
    // All processes agree on the order in which one word was changed.
    settle(*inode, offset, word_size);
  }
  std::string before = inode->bytes.substr(offset, word_size);
  const bool stores =
      !reads_only && (access.step == Step::word_store || before == bytes_of(access.expected));
  const std::memory_order order = stores || reads_only ? access.order : access.order_if_unchanged;
  if (acquires(order)) {
    acquire(process);
  }
  if (releases(order)) {
    release(process);
  }
  if (stores && is_late()) {
    push({.writer = &process,
          .inode = inode,
          .offset = offset,
          .before = std::move(before),
          .after = bytes_of(access.wanted),
          .is_word = true});
  }
}

}  // namespace lastref::harness::sim
