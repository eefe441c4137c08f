// owners: see owners.hpp. All calls here go through the Os that the owner was given.
#include <atomic>
#include <cstdint>
#include <functional>

#include <lastref/kernel_os.hpp>
#include <lastref/message.hpp>
#include <lastref/owners.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

/// Never destroyed: another thread may be calling it.
struct MessageHook {
  std::function<void(const Message&)> call;
  std::uint64_t process;
  const MessageHook* previous;
};
std::atomic<const MessageHook*> message_hook = nullptr;

/// Calls `write_some(remaining bytes, bytes so far)` until all of `bytes` is written.
template <typename WriteSome>
Status write_pieces(Bytes bytes, const std::string& subject, Call call, WriteSome write_some) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const auto attempt = [&] { return write_some(bytes.subspan(written), written); };
    LASTREF_TRY(count, retry_interrupted(attempt));
    if (count == 0) {
      // No kernel does this for a file or a pipe. If one did, we would loop indefinitely.
      return failure(std::errc::io_error, subject, call);
    }
    written += count;
  }
  return ok();
}

/// Fills `into` with `read_some(remaining space, bytes so far)`, up to the end of the file.
template <typename ReadSome>
Result<std::size_t> read_pieces(Buffer into, ReadSome read_some) {
  std::size_t size = 0;
  while (size < into.size()) {
    const auto attempt = [&] { return read_some(into.subspan(size), size); };
    LASTREF_TRY(count, retry_interrupted(attempt));
    if (count == 0) {
      break;
    }
    size += count;
  }
  return size;
}

/// Cuts `text` to `most` bytes and adds a note on the missing part; never inside of a character.
void cut_to(std::string& text, std::size_t most) {
  if (text.size() <= most) {
    return;
  }
  constexpr std::size_t space_for_word = 64;
  std::size_t kept = most - space_for_word;
  constexpr unsigned continues = 0x80;  // of UTF-8: 10xxxxxx
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0U) == continues) {
    --kept;
  }
  const std::string missing = std::to_string(text.size() - kept);
  text.resize(kept);
  text += "\xE2\x80\xA6 (" + missing + " more bytes)";
}

/// Whether a message could be written without waiting. True if that cannot be found out.
bool is_read(Os& os) {
  std::array items = {PollItem{.fd = Fd::standard_error, .want_write = true}};
  const auto ready = retry_interrupted([&] { return os.poll(items, Instant(0)); });
  return !ready || items[0].writable || items[0].hung_up;
}

std::string text_of(Fd fd) {
  return "fd " + std::to_string(static_cast<int>(fd));
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    close_quietly();
    os_ = std::exchange(other.os_, nullptr);
    fd_ = std::exchange(other.fd_, Fd::none);
  }
  return *this;
}

void UniqueFd::close_quietly() noexcept {
  if (fd_ == Fd::none) {
    return;
  }
  Os& os = *os_;
  if (const Status closed = close(); !closed) {
    report_quietly(os, [&] { return "lastref: " + describe(closed.error()); });
  }
}

Status UniqueFd::close() noexcept {
  const Fd fd = release();
  Status closed = fd == Fd::none ? ok() : os_->close(fd);
  // Linux releases the descriptor first, close(2): there is nothing to repeat or to report.
  return failed_with(closed, std::errc::interrupted) ? ok() : std::move(closed);
}

UniqueMap& UniqueMap::operator=(UniqueMap&& other) noexcept {
  if (this != &other) {
    unmap_quietly();
    os_ = std::exchange(other.os_, nullptr);
    mapped_ = std::exchange(other.mapped_, Buffer());
  }
  return *this;
}

void UniqueMap::unmap_quietly() noexcept {
  if (mapped_.empty()) {
    return;
  }
  Os& os = *os_;
  if (const Status unmapped = unmap(); !unmapped) {
    report_quietly(os, [&] { return "lastref: " + describe(unmapped.error()); });
  }
}

Status UniqueMap::unmap() noexcept {
  const Buffer mapped = std::exchange(mapped_, Buffer());
  return mapped.empty() ? ok() : os_->unmap(mapped);
}

Result<UniqueFd> open_file(Os& os, const PathAt& where, const OpenOptions& options) noexcept {
  LASTREF_TRY(fd, retry_interrupted([&] { return os.open(where, options); }));
  return UniqueFd(os, fd);
}

Result<UniqueMap> map_memory(Os& os, const MapOptions& options) noexcept {
  LASTREF_TRY(mapped, os.map(options));
  return UniqueMap(os, mapped);
}

Result<std::size_t> read_until_full(Os& os, Fd fd, Buffer into) noexcept {
  return read_pieces(into, [&](Buffer rest, std::size_t) { return os.read(fd, rest); });
}

Result<std::size_t> read_until_full_at(Os& os, Fd fd, Buffer into, std::uint64_t offset) noexcept {
  return read_pieces(
      into, [&](Buffer rest, std::size_t before) { return os.read_at(fd, rest, offset + before); });
}

Status sync_file(Os& os, Fd fd) noexcept {
  return retry_interrupted([&] { return os.sync(fd); });
}

Status write_all(Os& os, Fd fd, Bytes bytes) noexcept {
  return write_pieces(
      bytes, text_of(fd), Call::write, [&](Bytes rest, std::size_t) { return os.write(fd, rest); });
}

Status write_all_at(Os& os, Fd fd, Bytes bytes, std::uint64_t offset) noexcept {
  return write_pieces(bytes, text_of(fd), Call::write_at, [&](Bytes rest, std::size_t written) {
    return os.write_at(fd, rest, offset + written);
  });
}

void report_quietly(Os& os, std::string_view line) noexcept {
  const MessageHook* const hook = message_hook.load();
  if (hook != nullptr && hook->call && hook->process == os.process_token()) {
    hook->call({.text = line.substr(0, line.find_last_not_of('\n') + 1)});
    return;
  }
  const std::uint64_t dropped = os.dropped_messages.exchange(0);
  std::string message;
  const bool is_whole = had_memory([&] {
    message = line.substr(0, line.find_last_not_of('\n') + 1);
    const std::string note = dropped == 0 ? std::string()
                                          : "lastref: " + std::to_string(dropped) +
                                                " messages before this were not read\n";
    cut_to(message, message_max - note.size() - 1);
    message = note + message + '\n';
  });
  // In one piece, so that lines of several processes do not mix.
  if (!is_whole || !is_read(os) || !write_all(os, Fd::standard_error, bytes_of(message))) {
    os.dropped_messages += dropped + 1;
  }
}

Result<std::string> random_hex(Os& os) {
  std::array<std::byte, 16> bytes{};
  LASTREF_CHECK(retry_interrupted([&] { return os.entropy(bytes); }));
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<std::size_t>(byte >> 4)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

Status discard(Os& os, const PathAt& where) noexcept {
  Status removed = os.unlink(where);
  if (failed_with(removed, std::errc::no_such_file_or_directory)) {
    return ok();
  }
  return removed;
}

}  // namespace lastref::os

namespace lastref {

void on_message(std::function<void(const Message&)> hook) {
  const auto* previous = os::message_hook.load();
  const auto* made = new os::MessageHook{std::move(hook), os::KernelOs().process_token(), previous};
  while (!os::message_hook.compare_exchange_weak(previous, made)) {
  }
}

}  // namespace lastref
