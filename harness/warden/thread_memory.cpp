#include "harness/warden/thread_memory.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {

const ThreadMemory::Page* ThreadMemory::page(std::uint64_t number) {
  const auto [found, is_new] = pages_.try_emplace(number);
  if (is_new) {
    // Initializing it would cost as much as reading it.
    auto read = std::make_unique_for_overwrite<Page>();
    const bool is_there =
        pages_.size() <= pages_max &&
        read_memory(thread_, number * page_size, read->data(), page_size) == page_size;
    found->second = is_there ? std::move(read) : nullptr;
  }
  return found->second.get();
}

bool ThreadMemory::read(std::uint64_t address, void* into, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const Page* const from = page((address + done) / page_size);
    const std::size_t offset = (address + done) % page_size;
    const std::size_t part = std::min(size - done, page_size - offset);
    if (from == nullptr) {
      return false;
    }
    std::memcpy(static_cast<char*>(into) + done, from->data() + offset, part);
    done += part;
  }
  return true;
}

std::optional<std::uint64_t> ThreadMemory::word(std::uint64_t address) {
  std::uint64_t word = 0;
  return read(address, &word, sizeof word) ? std::optional(word) : std::nullopt;
}

std::string ThreadMemory::bytes(std::uint64_t address, std::size_t size) {
  std::string bytes(size, '\0');
  return read(address, bytes.data(), size) ? bytes : "";
}

}  // namespace lastref::harness::warden
