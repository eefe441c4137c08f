#include "harness/warden/workload_driver.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <vector>

#include "harness/platform/child_process.hpp"
#include "harness/warden/fault_injector.hpp"

namespace lastref::harness::warden {
namespace {

using Clock = std::chrono::steady_clock;

/// The time that a server has to become ready.
constexpr std::chrono::seconds ready_within{60};
constexpr int ask_every = 50;  // milliseconds

constexpr char ready_byte = 'y';
constexpr char round_byte = 'r';
constexpr char done_byte = 'd';
/// Followed by the four texts of a failure, each after a 0 byte.
constexpr char failure_byte = 'f';

/// The driver's end of the socket: sends messages, and detects that the supervisor has closed its
/// end.
class Line {
 public:
  explicit Line(int socket) noexcept : socket_(socket) {}

  bool is_cut() const noexcept {
    pollfd item{.fd = socket_, .events = 0, .revents = 0};
    return ::poll(&item, 1, 0) > 0;
  }
  void tell(const std::string& message) const noexcept {
    ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
  }
  bool waits_for_go() const noexcept {
    char byte = 0;
    return ::recv(socket_, &byte, 1, 0) == 1;
  }
  std::optional<CommandFailure> failure_of_command(const std::string& option,
                                                   const std::string& command) const {
    return failure_of(option, command, [this] { return is_cut() ? SIGTERM : 0; });
  }

 private:
  int socket_;
};

std::string message_of(const CommandFailure& failure) {
  std::string message(1, failure_byte);
  for (const std::string* text :
       {&failure.option, &failure.command, &failure.how, &failure.output}) {
    message += '\0' + *text;
  }
  return message;
}

CommandFailure failure_in(std::string_view message) {
  std::array<std::string, 4> texts;
  for (std::string& text : texts) {
    message.remove_prefix(std::min(message.find('\0'), message.size() - 1) + 1);
    text = message.substr(0, message.find('\0'));
  }
  return {.option = texts[0], .command = texts[1], .how = texts[2], .output = texts[3]};
}

std::optional<CommandFailure> failure_to_get_ready(const std::string& ready, const Line& line) {
  const auto end = Clock::now() + ready_within;
  for (;;) {
    auto failure = line.failure_of_command("--ready", ready);
    if (!failure || line.is_cut()) {
      return failure;
    }
    if (Clock::now() >= end) {
      failure->how += ", for " + std::to_string(ready_within.count()) + " s";
      return failure;
    }
    ::poll(nullptr, 0, ask_every);
  }
}

void attend(const ServerWork& work, const Line& line) {
  auto failure = failure_to_get_ready(work.ready, line);
  if (!failure) {
    line.tell(std::string(1, ready_byte));
  }
  for (std::uint64_t round = 0; !failure && !work.work.empty() && round < work.rounds; ++round) {
    failure = line.failure_of_command("--work", work.work);
    if (!failure) {
      line.tell(std::string(1, round_byte));
      if (!line.waits_for_go()) {
        return;
      }
    }
  }
  line.tell(failure ? message_of(*failure) : std::string(1, done_byte));
}

}  // namespace

WorkloadDriver::~WorkloadDriver() {
  socket_.reset();
  if (process_ > 0) {
    reap(process_);
  }
}

Status WorkloadDriver::start(const ServerWork& work) {
  auto [ours, its] = make_socket_pair(SOCK_SEQPACKET);
  if (!ours) {
    return lastref::failure(std::errc{errno}, "a socket");
  }
  socket_ = std::move(ours);
  process_ = start_child([&work, &socket = its, this] {
    socket_.reset();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    attend(work, Line(socket.get()));
    signal_descendants(SIGKILL);  // Otherwise they would count as processes of the server.
    return 0;
  });
  return process_ < 0 ? lastref::failure(std::errc{errno}, "a process") : ok();
}

WorkloadDriver::Event WorkloadDriver::receive() {
  if (is_done_) {
    return Event::nothing;
  }
  constexpr std::size_t message_max = 1U << 16U;
  std::vector<char> bytes(message_max);
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) {
    return Event::nothing;
  }
  const std::string_view message(bytes.data(), static_cast<std::size_t>(got));
  if (message.starts_with(ready_byte)) {
    is_ready_ = true;
    return Event::nothing;
  }
  if (message.starts_with(round_byte)) {
    return Event::round_is_over;
  }
  if (message.starts_with(failure_byte)) {
    failure_ = failure_in(message);
  }
  is_done_ = true;
  return Event::all_is_done;
}

void WorkloadDriver::go_on() noexcept {
  ::send(socket_.get(), "g", 1, MSG_NOSIGNAL);
}

}  // namespace lastref::harness::warden
