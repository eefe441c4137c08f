#include "impl/tracker/client_state.hpp"

#include <array>

#include <lastref/probe.hpp>
#include <lastref/spawned.hpp>
#include <lastref/tracker.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
namespace {

constexpr std::chrono::milliseconds pause_before_connecting_again{20};
constexpr std::chrono::seconds patience_at_leave{1};
/// If a tracker ran this long, the cause of its death differs from that of the one before it.
constexpr std::chrono::seconds tracker_lives_long{1};
constexpr std::chrono::seconds silent_tree_timeout{1};
/// The process that was started as the tracker may never become one, or may merely be slow.
constexpr std::chrono::seconds first_answer_timeout{10};
constexpr std::chrono::seconds time_to_die{1};

/// Whether a retry makes sense, because the program, or another one, may free the resource.
bool is_for_want_of_space(const Error& error) noexcept {
  return error.code == std::errc::too_many_files_open ||
         error.code == std::errc::too_many_files_open_in_system || os::is_no_memory(error);
}

/// The exit code of a program that cannot be loaded. ld.so(8)
constexpr int not_loaded = 127;

/// A tracker that cannot start exits with could_not, and with 0 only if the tree has ended.
bool is_of_another_program(const os::ChildExit& exit) {
  return !exit.killed && exit.code != could_not && exit.code != not_loaded;
}

enum Watched : std::size_t { wake_item, link_item, tracker_item, listener_item, watched };

}  // namespace

Client::State::State(os::Os& os, std::optional<RootOptions> root, std::string tree)
    : os_(os),
      process_(os.process_token()),
      root_(std::move(root)),
      monitor_(os.make_monitor()),
      paths_{.folder = std::move(tree)} {}

/// Sends the queued releases before leaving: otherwise their names would seem to be leftovers.
/// Waits for a slow tracker, but not for one that does not read.
void Client::State::flush_on_exit() {
  const os::Instant deadline = os_.now() + patience_at_leave;
  while (link_ && link_->wants_space() && !link_->broken() && os_.now() < deadline) {
    std::array items{os::PollItem{.fd = link_->fd(), .want_write = true}};
    const auto waited =
        os::retry_interrupted([&] { return os_.poll(items, deadline - os_.now()); });
    link_->flush();
    if (!waited) {
      return;
    }
  }
}

Client::State::~State() {
  {
    const os::MonitorLock held(*monitor_);
    stopping_ = true;
    // The lock is released first: the tracker must not see a member that is leaving and wait for
    // its death. A root stays the root until it has checked the state that it leaves.
    if (root_ && started_) {
      static_cast<void>(leave_lock(lock_, nonce_));  // On an error the byte is released with the
                                                     // lock.
    } else {
      lock_.close_quietly();
    }
    flush_on_exit();
    if (link_ && !link_->wants_space()) {
      link_->post(Message{.verb = Verb::leave, .entries = {}});
    }
    if (thread_) {
      static_cast<void>(wake());  // Closing is not enough: a forked child may have the pipe open as
                                  // well.
    }
    wake_write_.close_quietly();
  }
  if (thread_) {
    thread_->join();
  }
  link_.reset();
  if (root_ && started_) {
    static_cast<void>(os::had_memory([&]() LASTREF_NOT_CHECKED { clean_up_behind_tracker(); }));
    parts_.listener.close_quietly();
  }
}

/// Root only, at its end, if the tracker is dead.
void Client::State::clean_up_behind_tracker() {
  const auto ended = [&] {
    return os::retry_interrupted([&] { return os_.wait_child(tracker_.get()); });
  };
  const bool alive = tracker_ && !ended().value_or(os::ChildExit{});
  if (!alive) {
    const bool others = repair_.has_others();
    repair_.save_names(others);
    // Otherwise, until the next start, no process would clean up after a dead tree, or start
    // another tracker for the remaining members.
    Swept swept;
    if (others) {
      ++swept.alive;
    } else {
      lock_.close_quietly();
      static_cast<void>(reclaim_tree(os_, paths_, swept));
    }
    if (swept.trees > 0) {
      os_.hit(Probe::root_swept_behind_tracker);
    }
    if (swept.alive > 0 && parts_.listener) {
      os_.hit(Probe::tracker_started_for_others);
      static_cast<void>(spawn_tracker());
    }
  }
}

Status Client::State::ready() {
  const os::MonitorLock held(*monitor_);
  LASTREF_CHECK(start());
  wait_while([&]() LASTREF_REQUIRES(*monitor_) { return !announced_; });
  return announced_ && !broken_ ? ok() : why_not();
}

Result<std::string> Client::State::tree() {
  if (root_) {
    const os::MonitorLock held(*monitor_);
    if (started_ && !broken_) {
      LASTREF_TRY(lost, find_lost(os_, paths_, lock_, parts_));
      LASTREF_CHECK(lost.any() ? replace_tracker() : ok());
    }
  }
  LASTREF_CHECK(ready());
  return paths_.folder;
}

/// Kills the tracker. The I/O thread sees its death, recreates what is lost and starts the next
/// one.
Status Client::State::replace_tracker() {
  if (tracker_) {
    Status killed = os_.signal_process(tracker_.get(), os::Signal::kill);
    if (!killed && !is_dead(tracker_.get())) {
      return killed;
    }
  }
  if (std::exchange(announced_, false)) {
    trackers_ = 0;  // The tracker did not die by itself.
  }
  return ok();
}

bool Client::State::is_dead(os::Fd process) {
  std::array items{os::PollItem{.fd = process, .want_read = true}};
  const auto polled =
      os::retry_interrupted([&] { return os_.poll(items, std::chrono::nanoseconds(0)); });
  return polled && items[0].readable;
}

/// Called with the monitor held. Ends also when the tree is lost, or all waiting calls have failed.
template <typename Waits>
void Client::State::wait_while(Waits waits) noexcept {
  const std::uint64_t failed_before = failed_calls_;
  while (waits() && !broken_ && failed_calls_ == failed_before) {
    monitor_->wait();
  }
}

/// The error of a call that waited without success.
Status Client::State::why_not() const {
  return broken_ ? Status(failure(*broken_)) : Status(os::no_memory("the tracker"));
}

Status Client::State::request(Verb verb,
                              const Resource* resource,
                              const std::optional<Identity>& identity,
                              std::vector<MessageEntry>* answer) {
  LASTREF_CHECK(ready());
  Request request{.message = {.verb = verb, .entries = {}}};
  if (resource != nullptr) {
    request.message.entries.push_back({.resource = *resource, .identity = identity});
  }
  std::map<std::uint32_t, Request*> unanswered;
  const os::MonitorLock held(*monitor_);
  last_id_ = (last_id_ + 1) & ~nonce_bit;
  const std::uint32_t id = last_id_;
  request.message.id = id;
  Packet packet = encode_message(request.message);
  unanswered.emplace(id, &request);
  requests_.merge(unanswered);
  post(std::move(packet));
  wait_while([&] { return !request.done; });
  requests_.erase(id);
  if (!request.done) {
    return why_not();
  }
  if (request.status != std::errc{}) {
    // The file system of the ledger is full, not the one of the resource.
    const bool is_full = request.status == std::errc::no_space_on_device;
    return failure(request.status,
                   is_full               ? paths_.ledger()
                   : resource != nullptr ? to_text(*resource)
                                         : "the tracker");
  }
  if (answer != nullptr) {
    *answer = std::move(request.answer);
  }
  if (verb == Verb::register_) {
    os_.step(Step::client_counted);
  }
  return ok();
}

Status Client::State::hold(const Resource& resource) {
  LASTREF_CHECK(ready());
  const os::MonitorLock held(*monitor_);
  Packet packet = encode_message({.verb = Verb::hold, .entries = {{.resource = resource}}});
  if (link_ && !os::had_memory([&]() LASTREF_REQUIRES(*monitor_) { read_answers(); })) {
    // The message that the name was forgotten may be here unread; it belongs to the earlier use of
    // the name.
    give_up_link();
  }
  ++holdings_[resource];
  post(std::move(packet));
  // Only messages that the kernel has come before a release that another member sends after our
  // answer.
  const std::uint64_t mine = posted_;
  wait_while([&]() LASTREF_REQUIRES(*monitor_) {
    if (on_its_way_ < mine) {
      os_.hit(Probe::hold_waited);
    }
    return on_its_way_ < mine;
  });
  if (on_its_way_ >= mine) {
    return ok();
  }
  if (!broken_) {
    let_go_of(resource);  // The next announcement does not contain it.
  }
  return why_not();
}

Status Client::State::release(const Resource& resource) {
  const os::MonitorLock held(*monitor_);
  LASTREF_CHECK(start());
  Packet packet = encode_message({.verb = Verb::release, .entries = {{.resource = resource}}});
  let_go_of(resource);
  post(std::move(packet));
  return broken_ ? Status(failure(*broken_)) : ok();
}

/// Removes one reference, if there is any.
void Client::State::let_go_of(const Resource& resource) noexcept {
  if (const auto held_here = holdings_.find(resource); held_here != holdings_.end()) {
    if (--held_here->second == 0) {
      holdings_.erase(held_here);
    }
  }
}

/// Runs once: creates or joins the tree, announces this process, and starts the I/O thread. The
/// tracker is started last, so that nothing has to be undone while one runs. Until it answers, our
/// messages wait in the listening socket. On an error nothing remains, and the next call tries
/// again.
Status Client::State::start() {
  if (broken_) {
    return failure(*broken_);
  }
  if (started_) {
    return ok();
  }
  if (paths_.folder.empty() && !root_) {
    return failure(std::errc::not_connected, "no tree was started before this process was forked");
  }
  Status made = os::within_memory("the tree", [&]() LASTREF_REQUIRES(*monitor_) -> Status {
    LASTREF_CHECK(root_ ? check_guarded() : ok());
    LASTREF_CHECK(make_or_join());
    LASTREF_TRY(thread, os_.start_thread([this] { serve(); }));
    thread_ = std::move(thread);
    return root_ ? spawn_tracker() : ok();
  });
  if (!made) {
    os_.hit(Probe::start_taken_back);
    forget_everything();
    return made;
  }
  started_ = true;
  return ok();
}

Status Client::State::make_or_join() {
  if (root_) {
    LASTREF_TRY(tree, make_tree(os_, root_->runtime_folder));
    paths_ = std::move(tree.paths);
    removal_ = std::move(tree.removal);
    lock_ = std::move(tree.membership.lock);
    nonce_ = tree.membership.nonce;
    parts_ = std::move(tree.parts);
  } else {
    LASTREF_TRY(membership, join_lock(os_, paths_));
    lock_ = std::move(membership.lock);
    nonce_ = membership.nonce;
  }
  LASTREF_TRY(self, os_.open_process(os_.process_id()));
  self_ = os::UniqueFd(os_, self);
  LASTREF_TRY(ends, os_.make_pipe());
  wake_read_ = os::UniqueFd(os_, ends.read);
  wake_write_ = os::UniqueFd(os_, ends.write);
  LASTREF_CHECK(connect_patiently());
  announce();
  return ok();
}

/// Undoes a start that failed half-way. Called with the monitor held, which it drops meanwhile.
void Client::State::forget_everything() noexcept {
  if (thread_) {
    stopping_ = true;
    wake_write_.close_quietly();
    monitor_->unlock();
    thread_->join();
    monitor_->lock();
    thread_.reset();
    stopping_ = false;
  }
  lock_.close_quietly();  // First, as when a process leaves.
  if (link_ && !link_->wants_space()) {
    link_->post(Message{.verb = Verb::leave, .entries = {}});
  }
  link_.reset();
  wake_write_.close_quietly();
  wake_read_.close_quietly();
  self_.close_quietly();
  parts_ = {};
  if (removal_) {
    static_cast<void>(removal_->remove(os_));
    removal_.reset();
    paths_.folder.clear();
  }
}

Status Client::State::spawn_tracker() {
  started_at_ = os_.now();
  std::vector<std::string> arguments = {paths_.folder};
  std::vector<os::PassedFd> fds = {{.here = parts_.listener.get(), .number_there = passed_fd}};
  if (repair_.has_old_parts()) {
    arguments.insert(arguments.end(),
                     {old_locks_option, std::to_string(repair_.old_locks().size())});
    fds.push_back({.here = repair_.ledger(), .number_there = old_ledger_fd});
    for (const LockFile& lock : repair_.old_locks()) {
      fds.push_back({.here = lock.get(),
                     .number_there = first_old_lock_fd + static_cast<int>(fds.size()) - 2});
    }
  }
  LASTREF_TRY(child,
              os_.spawn({.entry = entry_point,
                         .arguments = std::move(arguments),
                         .fds = std::move(fds),
                         .blocked = {ignored_signals.begin(), ignored_signals.end()},
                         .environment = {{spawned_marker, entry_point}},
                         .end_wanted = false,
                         .many_fds = true}));
  tracker_ = os::UniqueFd(os_, child.process);
  ++trackers_;
  return ok();
}

/// A process that was started as a tracker, but runs as the program, leads no tree. The root that
/// waits for that tracker must not wait for what the program does instead.
Status Client::State::check_guarded() {
  const auto role = os_.environment(spawned_marker);
  if (!role) {
    return ok();
  }
  if (*role == entry_point) {
    static_cast<void>(os_.shut_down(os::Fd{passed_fd}));
  }
  return not_guarded(*role);
}

Status Client::State::connect() {
  LASTREF_TRY(socket, os_.make_socket());
  os::UniqueFd owned(os_, socket);
  const std::string path = paths_.socket();
  LASTREF_CHECK(os::retry_interrupted([&] { return os_.connect(socket, path); }));
  // Before we send anything: a process of another user may have put its own socket there.
  LASTREF_TRY(peer, os_.peer_of(socket));
  if (peer.user != os_.user_id() && peer.user != 0) {
    return failure(std::errc::permission_denied, paths_.socket() + " (another user's)");
  }
  link_ = std::make_unique<Link>(os_, std::move(owned));
  return ok();
}

/// While many processes connect at once, or the tracker is stopped, the backlog may be full for
/// some time.
Status Client::State::connect_patiently() {
  for (int pauses = 0;; ++pauses) {
    Status connected = connect();
    if (!failed_with(connected, std::errc::resource_unavailable_try_again) ||
        pauses == limits_.connect_pauses) {
      return connected;
    }
    os_.hit(Probe::connecting_put_off);
    static_cast<void>(os_.poll({}, pause_before_connecting_again));
  }
}

/// Sends all holdings of this process, and then the unanswered requests. These include a register
/// that was counted but not answered: until the tracker has read everything, it must not treat that
/// name as one without a holder.
void Client::State::announce() {
  Message message{.verb = Verb::announce, .again = !requests_.empty(), .id = nonce_, .entries = {}};
  for (const auto& [resource, count] : holdings_) {
    message.entries.push_back({.resource = resource, .count = count});
  }
  const os::Fd self = self_.get();
  bool first = true;
  for (Packet& packet : encode_split(message, limits_)) {
    link_->post(std::move(packet), first ? std::span(&self, 1) : std::span<const os::Fd>());
    first = false;
  }
  for (const auto& [id, request] : requests_) {
    Message again = request->message;
    os_.hit(Probe::request_asked_again);
    again.again = true;
    request->answer.clear();
    link_->post(again);
  }
  if (message.again) {
    link_->post(Message{.verb = Verb::announce, .id = nonce_, .entries = {}});
  }
  if (!link_->wants_space() && !link_->broken()) {
    on_its_way_ = posted_;
  }
}

void Client::State::post(Packet packet) noexcept {
  ++posted_;
  if (!link_) {
    return;  // The next announcement contains it.
  }
  link_->post(std::move(packet));
  if (link_->broken() || link_->wants_space()) {
    if (Status woken = wake(); !woken && !broken_) {
      broken_ = std::move(woken.error());  // No later message will report it.
      monitor_->notify_all();
    }
  } else {
    on_its_way_ = posted_;
  }
}

/// Wakes the I/O thread. On an error it closes the pipe, which wakes the thread a last time.
Status Client::State::wake() noexcept {
  const std::byte byte{1};
  auto woken =
      os::retry_interrupted([&] { return os_.write(wake_write_.get(), std::span(&byte, 1)); });
  if (!woken && woken.error().code != std::errc::resource_unavailable_try_again) {
    wake_write_.close_quietly();
    return tl::unexpected<Error>(std::move(woken.error()));
  }
  return ok();
}

/// Later messages are not read: the I/O thread announces again, on another connection.
void Client::State::give_up_link() noexcept {
  link_->give_up();
  if (Status woken = wake(); !woken && !broken_) {
    broken_ = std::move(woken.error());
  }
  fail_calls();
}

/// Fails all waiting calls: there is no memory for what they wait for.
void Client::State::fail_calls() noexcept {
  for (const auto& [id, request] : requests_) {
    request->status = std::errc::not_enough_memory;
    request->done = true;
  }
  requests_.clear();
  ++failed_calls_;
  monitor_->notify_all();
}

void Client::State::give_up(Error error) noexcept {
  if (!broken_) {
    broken_ = std::move(error);
  }
  end_service();
}

/// No thread serves this client any more.
void Client::State::end_service() noexcept {
  link_.reset();
  if (is_for_want_of_space(*broken_)) {
    // While this process is alive, all other members would wait for its announcement.
    os_.hit(Probe::process_left_tree_starved);
    lock_.close_quietly();
  }
  // A process in the backlog of a tree without a tracker must not wait indefinitely.
  parts_.listener.close_quietly();
  monitor_->notify_all();
}

void Client::State::serve() {
  std::array<os::PollItem, watched> items{};
  for (bool goes_on = true; goes_on && wait(items);) {
    std::string notice;
    bool had_memory = true;
    {
      const os::MonitorLock held(*monitor_);
      had_memory =
          os::had_memory([&]() LASTREF_REQUIRES(*monitor_) { goes_on = act(items, notice); });
      if (!had_memory) {
        goes_on = go_without_memory();
      }
    }
    if (!notice.empty()) {
      os::report_quietly(os_, notice);  // Without the monitor: the reader may be slow, and no
                                        // caller waits for it.
    }
    if (!had_memory) {
      static_cast<void>(os_.poll({}, pause_before_connecting_again));
    }
  }
  const os::MonitorLock held(*monitor_);
  if (broken_) {  // Also by a caller that could not wake this thread.
    end_service();
  }
}

/// Called with the monitor held, after something was lost. False when the thread has to end.
bool Client::State::go_without_memory() noexcept {
  if (++exhausted_count_ >= limits_.exhausted_pauses) {
    give_up({.code = std::errc::not_enough_memory, .subject = {}});
    return false;
  }
  link_.reset();
  announced_ = false;
  connections_ = std::max(connections_ - 1, 0);
  fail_calls();
  return true;
}

/// Waits for events without the monitor. False when the thread has to end.
bool Client::State::wait(std::span<os::PollItem> items) {
  std::optional<std::chrono::nanoseconds> timeout;
  bool may_be_silent = false;
  {
    const os::MonitorLock held(*monitor_);
    if (stopping_ || broken_) {
      return false;
    }
    items[wake_item] = {.fd = wake_read_.get(), .want_read = true};
    items[link_item] = {.fd = link_ ? link_->fd() : os::Fd::none,
                        .want_read = true,
                        .want_write = link_ && link_->wants_space()};
    items[tracker_item] = {.fd = tracker_.get(), .want_read = true};
    items[listener_item] = {.fd = came_up_ ? os::Fd::none : parts_.listener.get()};
    // A connection that has failed shows no event if there was no memory for what waits to be sent.
    if (poll_failures_ > 0 || !link_ || link_->broken() || wants_tracker_) {
      timeout = pause_before_connecting_again;
    } else if (!announced_ && !root_) {
      timeout = silent_tree_timeout;
    } else if (!came_up_ && !is_silent_) {
      timeout = first_answer_timeout;
      may_be_silent = true;
    }
  }
  auto ready = os_.poll(items, timeout);
  if (may_be_silent && ready && *ready == 0) {
    is_silent_ = true;
    os::report_quietly(os_, [&] {
      return "lastref: the program that was started as the tracker does not answer; " +
             std::string(how_to_guard_main);
    });
  }
  if (ready || ready.error().code == std::errc::interrupted) {
    poll_failures_ = 0;
    return true;
  }
  for (os::PollItem& item : items) {
    item.readable = item.writable = item.hung_up = false;
  }
  if (++poll_failures_ == limits_.client_failures) {
    const os::MonitorLock held(*monitor_);
    give_up(std::move(ready.error()));
    return false;
  }
  return true;
}

/// Called with the monitor held. False when the thread has to end. The caller reports `notice`
/// after it has released the monitor.
bool Client::State::act(std::span<const os::PollItem> items, std::string& notice) {
  if (stopping_) {
    return false;
  }
  if (items[wake_item].readable) {
    std::array<std::byte, 64> drained{};
    const auto read = os_.read(wake_read_.get(), drained);
    if (failed_with(read, std::errc::io_error)) {
      give_up(read.error());  // The pipe would stay readable, and wake us again and again.
      return false;
    }
  }
  if (items[wake_item].hung_up) {
    give_up({.code = std::errc::broken_pipe, .subject = "the client's own pipe"});
    return false;
  }
  if (items[listener_item].hung_up) {
    give_up_on_program("refuses to be a tracker");
  } else if (items[tracker_item].readable) {
    handle_tracker_death(notice);
  } else if (wants_tracker_) {
    start_another(notice);
  }
  if (link_ && items[link_item].writable) {
    link_->flush();
    if (!link_->wants_space()) {
      on_its_way_ = posted_;
      monitor_->notify_all();
    }
  }
  if (link_ && (items[link_item].readable || items[link_item].hung_up)) {
    read_answers();
  }
  if (!broken_ && (!link_ || link_->broken())) {
    restore();
  }
  if (!broken_ && !announced_ && !root_) {
    check_tree_alive();
  }
  return !broken_;
}

void Client::State::read_answers() {
  for (;;) {
    switch (link_->receive()) {
      case Arrival::message:
        take_answer(link_->received());
        break;
      case Arrival::malformed:
        give_up(
            {.code = std::errc::bad_message, .subject = "from the tracker: " + link_->reason()});
        return;
      case Arrival::nothing:
      case Arrival::end:
        return;
    }
    if (broken_) {
      return;
    }
  }
}

void Client::State::take_answer(Message& answer) {
  if (answer.verb == Verb::forget) {
    // Another process has forgotten a name that we hold: do not announce it to the next tracker.
    for (const MessageEntry& entry : answer.entries) {
      if (holdings_.erase(entry.resource) > 0) {
        os_.hit(Probe::forgotten_elsewhere);
      }
    }
    return;
  }
  if (answer.id == nonce_) {
    if (answer.status != 0) {
      os_.hit(Probe::refused_by_tracker);
      const auto code = static_cast<std::errc>(answer.status);
      const bool is_full = code == std::errc::too_many_files_open;
      give_up({.code = code,
               .subject =
                   is_full ? "the tracker has no descriptor left for another process; its limit is "
                             "that of the program that leads the tree"
                           : "the tracker refused us"});
      return;
    }
    announced_ = true;
    came_up_ = true;
    connections_ = 0;
    absent_ = 0;
    exhausted_count_ = 0;
    os_.step(Step::client_recovered);
    monitor_->notify_all();
    return;
  }
  const auto found = requests_.find(answer.id);
  if (found == requests_.end()) {
    return;
  }
  Request& request = *found->second;
  std::ranges::move(answer.entries, std::back_inserter(request.answer));
  if (answer.more) {
    return;
  }
  request.status = static_cast<std::errc>(answer.status);
  request.done = true;
  // In the same step as the answer, so that an announcement contains it exactly from now on.
  if (answer.status == 0 && request.message.verb == Verb::register_) {
    ++holdings_[request.message.entries.front().resource];
  }
  if (answer.status == 0 && request.message.verb == Verb::forget) {
    holdings_.erase(request.message.entries.front().resource);
  }
  requests_.erase(found);
  trackers_ = 0;
  monitor_->notify_all();
}

/// The connection is lost: the tracker is dead, or refused us, or a call failed. Connects and
/// announces again: to the running tracker, or to the next one, through the backlog that the root
/// keeps open.
// One sequence of steps, each of which undoes the one before it.
// NOLINTNEXTLINE(readability-function-size)
void Client::State::restore() {
  announced_ = false;
  if (link_) {
    link_->receive_the_rest();
    read_answers();
    link_.reset();
  }
  if (broken_) {
    return;
  }
  if (!root_) {
    const Status followed = follow_lock(os_, paths_, lock_, nonce_);
    if (!followed && ++absent_ < limits_.absent_pauses) {
      return;  // Tried again after a pause: the root is about to recreate it.
    }
    if (!followed && followed.error().code != std::errc::no_such_file_or_directory) {
      give_up(followed.error());
      return;
    }
  }
  // The first two tries have no pause. A tracker without memory would refuse more of them as well.
  const os::Instant now = os_.now();
  if (connections_ >= 2 && now < connect_again_) {
    return;
  }
  connect_again_ = now + pause_before_connecting_again;
  if (++connections_ > limits_.connections) {
    os_.hit(Probe::link_given_up);
    give_up(
        {.code = std::errc::connection_aborted, .call = Call::connect, .subject = paths_.folder});
    lock_.close_quietly();  // The tracker lives, and must not wait for another announcement.
    return;
  }
  if (Status connected =
          os::within_memory("the tracker", [&]() LASTREF_REQUIRES(*monitor_) { return connect(); });
      !connected) {
    const std::errc code = connected.error().code;
    const bool is_starved = is_for_want_of_space(connected.error());
    // A recreated socket refuses connections until its root listens.
    const bool is_absent = code == std::errc::no_such_file_or_directory ||
                           (code == std::errc::connection_refused && !root_);
    // Many processes connect at once, or the tracker is stopped.
    const bool is_full = code == std::errc::resource_unavailable_try_again;
    if ((is_absent || is_full) && ++absent_ < limits_.absent_pauses) {
      --connections_;
      if (root_ && is_absent) {
        static_cast<void>(replace_tracker());  // If it was not killed, the next try shows that.
      }
      return;
    }
    // No process listens, and only a root could start one that does: the tree has ended.
    if (code == std::errc::connection_refused || code == std::errc::no_such_file_or_directory ||
        (is_starved && ++exhausted_count_ >= limits_.exhausted_pauses)) {
      give_up(std::move(connected.error()));
    } else if (is_starved) {
      os_.hit(Probe::reconnecting_starved);
      --connections_;  // The program may close something.
      if (code == std::errc::not_enough_memory) {
        fail_calls();
      }
    }
    return;  // Tried again after a pause.
  }
  os_.hit(Probe::link_made_again);
  announce();
  monitor_->notify_all();
}

/// An unrelated process that forked from the root may keep the socket open in which we wait.
void Client::State::check_tree_alive() {
  const auto future = can_be_served(os_, lock_.get());
  failed_liveness_checks_ = future ? 0 : failed_liveness_checks_ + 1;
  if ((future && !*future) || failed_liveness_checks_ >= limits_.liveness_failures) {
    os_.hit(Probe::tree_without_future);
    give_up(
        {.code = std::errc::connection_refused, .call = Call::find_lock, .subject = paths_.folder});
  }
}

/// Root only: the program that was started as the tracker is none. It is killed, because it repeats
/// what this process does.
void Client::State::give_up_on_program(const std::string& how) {
  static_cast<void>(os_.signal_process(tracker_.get(), os::Signal::kill));
  std::array items{os::PollItem{.fd = tracker_.get(), .want_read = true}};
  static_cast<void>(os::retry_interrupted([&] { return os_.poll(items, time_to_die); }));
  static_cast<void>(os_.wait_child(tracker_.get()));
  tracker_.close_quietly();  // So that this process removes what is left of the tree.
  give_up(
      {.code = std::errc::operation_not_permitted,
       .call = Call::spawn,
       .subject = "the program that was started as the tracker " + how + ": " + how_to_guard_main});
}

/// Root only: the tracker has died. Starts another, with one warning.
void Client::State::handle_tracker_death(std::string& notice) {
  const auto ended = os::retry_interrupted([&] { return os_.wait_child(tracker_.get()); });
  if (ended && !*ended) {
    return;
  }
  std::string how = "ended";
  if (ended && *ended) {
    how = ((*ended)->killed ? "was killed by signal " : "exited with code ") +
          std::to_string((*ended)->code);
  }
  if (ended && *ended && !came_up_ && is_of_another_program(**ended)) {
    give_up_on_program(how);
    return;
  }
  // Before anything is changed: without memory for a text, the death is handled again later.
  std::string starting = "lastref: the tracker " + how + "; starting another";
  std::string subject = "the tracker " + how + ", again and again";
  if (!came_up_ && ended && *ended && !(*ended)->killed && (*ended)->code == could_not) {
    subject.append(" (unless it has reported the reason: ").append(how_to_guard_main).append(")");
  }
  tracker_.close_quietly();
  announced_ = false;
  // A tracker that only receives our holdings may die of the next event, and so may all others.
  if (os_.now() - started_at_ >= tracker_lives_long) {
    trackers_ = 0;
  }
  if (trackers_ >= limits_.trackers) {
    os_.hit(Probe::trackers_given_up);
    give_up({.code = std::errc::connection_aborted,
             .call = Call::spawn,
             .subject = std::move(subject)});
    return;
  }
  os_.hit(Probe::tracker_replaced);
  notice = std::move(starting);
  start_another(notice);
}

/// Recreates the removed parts of the tree, and starts a tracker; later if there is no memory.
/// `notice` is kept if nothing was removed.
void Client::State::start_another(std::string& notice) noexcept {
  Status started = os::within_memory("the tracker", [&]() LASTREF_REQUIRES(*monitor_) -> Status {
    LASTREF_TRY(repaired, repair_.repair(stopping_ ? 0 : nonce_));
    if (repaired) {
      notice = repair_.repair_notice();
    }
    return spawn_tracker();
  });
  wants_tracker_ = !started && os::is_no_memory(started.error()) &&
                   ++exhausted_count_ < limits_.exhausted_pauses;
  if (!started && !wants_tracker_) {
    give_up(std::move(started.error()));
  }
}

}  // namespace lastref::tracker
