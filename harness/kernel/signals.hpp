// Signals: what roles have signalled to each other, in memory that all processes of a run share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/instrument/limits.hpp"
#include "harness/journal/record.hpp"

namespace lastref::harness {

/// Plain bytes. One process at a time may change them. A process that is killed while it changes
/// them has signalled nothing, because the counts are increased last.
class Signals {
 public:
  bool was_told(const ObjectText& signal) const noexcept;
  /// False if the signal was already given.
  bool tell(const ObjectText& signal) noexcept;
  /// Sets the bytes of a signal before it is given, and replaces earlier ones.
  void put(const ObjectText& signal, std::string_view bytes) noexcept;
  /// The bytes of a given signal, empty if it has none; absent if it was not given.
  std::optional<std::string> mail(const ObjectText& signal) const;
  /// Resets to no signals.
  void clear() noexcept;

 private:
  /// A signal that carries bytes.
  struct Mail {
    ObjectText signal;
    std::uint16_t size;
    std::array<char, mail_size_max> bytes;
  };

  const Mail* mail_under(const ObjectText& signal) const noexcept;

  std::uint32_t told_count_ = 0;
  std::uint32_t mail_count_ = 0;
  std::array<ObjectText, signals_max> told_;
  std::array<Mail, mails_max> mails_;
};

}  // namespace lastref::harness
