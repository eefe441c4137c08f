// planted_bytes: the parts from which tests build files of the product's formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/journal/record.hpp"

namespace lastref::harness::oracle {

/// A number, little-endian.
inline std::string word(std::uint64_t number, std::size_t size = 8) {
  std::string bytes;
  for (std::size_t index = 0; index < size; ++index) {
    bytes.push_back(static_cast<char>(number >> (8 * index) & 0xffU));
  }
  return bytes;
}

/// A record of a ledger, at an offset.
inline std::string ledger_record(std::size_t offset,
                                 char state,
                                 const std::string& name,
                                 char type = 0) {
  const std::uint64_t check = hash_of(word(offset) + type + name);
  return std::string(1, state) + type + word(name.size(), 2) + word(check) + name;
}

}  // namespace lastref::harness::oracle
