// Signals: what roles have told each other, in memory that all processes of a run share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/instrument/limits.hpp"
#include "harness/journal/record.hpp"

namespace lastref::harness {

/// Plain bytes. One at a time may change them; whoever is killed at it has told nothing, for the
/// counts go up last.
class Signals {
 public:
  bool was_told(const ObjectText& signal) const noexcept;
  /// False if it was told already.
  bool tell(const ObjectText& signal) noexcept;
  /// The bytes of a signal, before it is told. Others that it had are replaced.
  void put(const ObjectText& signal, std::string_view bytes) noexcept;
  /// Those of one that was told, which are none if it has none; nothing if it was not.
  std::optional<std::string> mail(const ObjectText& signal) const;
  /// Nothing was told.
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
