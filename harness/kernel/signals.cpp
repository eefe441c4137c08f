#include "harness/kernel/signals.hpp"

#include <algorithm>
#include <span>

#include <lastref/error.hpp>

namespace lastref::harness {

bool Signals::was_told(const ObjectText& signal) const noexcept {
  const auto told = std::span(told_).first(told_count_);
  return std::ranges::any_of(told, [&](const ObjectText& each) { return each == signal.view(); });
}

bool Signals::tell(const ObjectText& signal) noexcept {
  if (was_told(signal)) {
    return false;
  }
  LASTREF_ASSERT(told_count_ < signals_max);
  told_[told_count_] = signal;
  ++told_count_;
  return true;
}

const Signals::Mail* Signals::mail_under(const ObjectText& signal) const noexcept {
  const auto sent = std::span(mails_).first(mail_count_);
  const auto found =
      std::ranges::find_if(sent, [&](const Mail& each) { return each.signal == signal.view(); });
  return found == sent.end() ? nullptr : &*found;
}

void Signals::put(const ObjectText& signal, std::string_view bytes) noexcept {
  LASTREF_ASSERT(bytes.size() <= mail_size_max);
  const Mail* const known = mail_under(signal);
  LASTREF_ASSERT(known != nullptr || mail_count_ < mails_max);
  const auto at = known == nullptr ? mail_count_ : static_cast<std::size_t>(known - mails_.data());
  Mail& mail = mails_[at];
  mail.signal = signal;
  mail.size = static_cast<std::uint16_t>(bytes.size());
  std::ranges::copy(bytes, mail.bytes.begin());
  if (known == nullptr) {
    ++mail_count_;
  }
}

std::optional<std::string> Signals::mail(const ObjectText& signal) const {
  if (!was_told(signal)) {
    return std::nullopt;
  }
  const Mail* const mail = mail_under(signal);
  return mail == nullptr ? std::string() : std::string(mail->bytes.data(), mail->size);
}

void Signals::clear() noexcept {
  told_count_ = 0;
  mail_count_ = 0;
}

}  // namespace lastref::harness
