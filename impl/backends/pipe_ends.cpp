#include "impl/backends/pipe_ends.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace lastref::backends {
namespace {

constexpr std::size_t front = sizeof(std::uint64_t) + sizeof(MessageKind);

/// What a refused call means to its caller: nothing, if it had only to wait.
template <typename T>
Status told(const Result<T>& refused) {
  if (refused.error().code == std::errc::resource_unavailable_try_again) {
    return ok();
  }
  return status_of(refused);
}

template <typename Call>
Status repeat(os::Os& os, const Call& call) {
  Status done = ok();
  for (int tries = 0; tries < os::limits_of(os).wake_attempts; ++tries) {
    const auto result = os::retry_interrupted(call);
    done = result ? ok() : told(result);
    if (done) {
      return done;
    }
  }
  return done;
}

}  // namespace

Status wake_by(os::Os& os, os::Fd write) noexcept {
  constexpr std::array byte = {std::byte{1}};
  return repeat(os, [&] { return os.write(write, byte); });
}

Status drain(os::Os& os, os::Fd read) noexcept {
  std::array<std::byte, 64> drained{};
  return repeat(os, [&] { return os.read(read, drained); });
}

Status Inbox::fill() {
  if (read_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(read_));
    read_ = 0;
  }
  if (scratch_ == nullptr) {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(limits_->pipe_read_size);
  }
  const std::span<std::byte> space(scratch_.get(), limits_->pipe_read_size);
  for (;;) {
    const auto got = os::retry_interrupted([&] { return os_->read(fd_.get(), space); });
    if (!got) {
      return told(got);
    }
    const std::span<std::byte> read = space.first(*got);
    buffer_.insert(buffer_.end(), read.begin(), read.end());
    at_end_ = *got == 0;
    if (*got < space.size()) {
      return ok();
    }
  }
}

Result<std::optional<Message>> Inbox::next() {
  if (read_ == buffer_.size() && buffer_.capacity() > limits_->inbox_kept) {
    os::Packed().swap(buffer_);
    read_ = 0;
  }
  const os::Bytes left = os::Bytes(buffer_).subspan(read_);
  os::Unpacker unpacker(left.first(std::min(left.size(), front)));
  const auto size = unpacker.number<std::uint64_t>();
  const auto kind = unpacker.number<std::uint8_t>();
  if (unpacker.failed() || size > left.size() - sizeof size) {
    return std::optional<Message>();
  }
  if (size == 0 || kind >= kinds) {
    return failure(std::errc::bad_message, "a message of an unknown kind");
  }
  read_ += sizeof size + static_cast<std::size_t>(size);
  return std::optional(
      Message{.kind = MessageKind{kind},
              .body = left.subspan(front, static_cast<std::size_t>(size) - sizeof kind)});
}

WholeMessage whole_message(const os::Limits& limits,
                           MessageKind kind,
                           const os::Packed& numbers,
                           os::Packed body) {
  const std::size_t size = numbers.size() + body.size();
  const bool is_small = body.size() <= limits.joined_size;
  WholeMessage message(1);
  os::Packed& into = message.front();
  into.reserve(front + numbers.size() + (is_small ? body.size() : 0));
  os::put(into, std::uint64_t{sizeof kind + size});
  os::put(into, static_cast<std::uint8_t>(kind));
  into.insert(into.end(), numbers.begin(), numbers.end());
  if (is_small) {
    into.insert(into.end(), body.begin(), body.end());
  } else {
    message.push_back(std::move(body));
  }
  return message;
}

void set_numbers(WholeMessage& message, os::Bytes numbers) noexcept {
  std::ranges::copy(numbers, message.front().begin() + front);
}

void Outbox::post(MessageKind kind, const os::Packed& numbers, os::Packed body) {
  WholeMessage message = whole_message(*limits_, kind, numbers, std::move(body));
  const os::Packed& first = message.front();
  // Small messages are written in one call, if they have to wait.
  const bool joins = message.size() == 1 && !queue_.empty() &&
                     queue_.back().size() + first.size() <= limits_->joined_size;
  if (joins) {
    queue_.back().insert(queue_.back().end(), first.begin(), first.end());
  } else {
    post(std::move(message));
  }
}

Status Outbox::flush() {
  while (!queue_.empty()) {
    const os::Bytes left = os::Bytes(queue_.front()).subspan(written_);
    const auto put = os::retry_interrupted([&] { return os_->write(fd_.get(), left); });
    if (!put) {
      return told(put);
    }
    written_ += *put;
    if (written_ == queue_.front().size()) {
      queue_.pop_front();
      written_ = 0;
    }
  }
  return ok();
}

}  // namespace lastref::backends
