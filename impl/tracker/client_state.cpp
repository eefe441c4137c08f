#include "impl/tracker/client_state.hpp"

#include <array>

#include <lastref/probe.hpp>
#include <lastref/spawned.hpp>
#include <lastref/tracker.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
namespace {

/// Five seconds in total.
constexpr int pauses_max = 250;
constexpr std::chrono::seconds patience_at_leave{1};

}  // namespace

Client::State::State(os::Os& os, std::optional<RootOptions> root, std::string tree)
    : os_(os),
      process_(os.process_token()),
      root_(std::move(root)),
      monitor_(os.make_monitor()),
      paths_{.folder = std::move(tree)} {}

/// Who leaves with a release unsaid seems to leave its name behind. Who reads slowly is waited for,
/// and who does not read is not.
void Client::State::say_the_rest() {
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
    const os::Held held(*monitor_);
    stopping_ = true;
    // The lock is released first: the tracker must not find a member that is leaving and wait for
    // its death. A root stays the root until it has checked what it leaves.
    if (root_ && started_) {
      static_cast<void>(leave_lock(lock_, nonce_));  // On an error the byte is released with the
                                                     // lock.
    } else {
      lock_.close_quietly();
    }
    say_the_rest();
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
    static_cast<void>(os::had_memory([&] { clean_up_behind_tracker(); }));
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
    const bool others = has_others();
    save_names(others);
    // Nobody else would, before the next start: neither clean up behind a dead tree, nor start
    // another tracker for those who stay.
    Swept swept;
    if (others) {
      ++swept.alive;
    } else {
      lock_.close_quietly();
      static_cast<void>(reclaim_tree(os_, paths_, swept));
    }
    if (swept.trees > 0) {
      os_.saw(Probe::root_swept_behind_tracker);
    }
    if (swept.alive > 0 && parts_.listener) {
      os_.saw(Probe::tracker_started_for_others);
      static_cast<void>(spawn_tracker());
    }
  }
}

Status Client::State::ready() {
  const os::Held held(*monitor_);
  LASTREF_CHECK(start());
  wait_while([&] { return !announced_; });
  return announced_ && !broken_ ? ok() : why_not();
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
                              std::vector<Entry>* answer) {
  LASTREF_CHECK(ready());
  Request request{.message = {.verb = verb, .entries = {}}};
  if (resource != nullptr) {
    request.message.entries.push_back({.resource = *resource, .identity = identity});
  }
  std::map<std::uint32_t, Request*> unanswered;
  const os::Held held(*monitor_);
  last_id_ = (last_id_ + 1) & ~nonce_bit;
  const std::uint32_t id = last_id_;
  request.message.id = id;
  Packet packet = encode(request.message);
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
  const os::Held held(*monitor_);
  Packet packet = encode({.verb = Verb::hold, .entries = {{.resource = resource}}});
  if (link_ && !os::had_memory([&] { read_answers(); })) {
    // That the name was forgotten may lie here unread, and is of its life before.
    give_up_link();
  }
  ++holdings_[resource];
  post(std::move(packet));
  // Only what the kernel has comes before a release that somebody else sends after our answer.
  const std::uint64_t mine = posted_;
  wait_while([&] {
    if (on_its_way_ < mine) {
      os_.saw(Probe::hold_waited);
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
  const os::Held held(*monitor_);
  LASTREF_CHECK(start());
  Packet packet = encode({.verb = Verb::release, .entries = {{.resource = resource}}});
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

/// Runs once: makes or joins the tree, announces this process, and starts the I/O thread. The
/// tracker is started last, so that nothing has to be undone for a running one. Until it answers,
/// our messages wait in the listening socket. On an error nothing is left, and the next call tries
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
  Status made = os::within_memory("the tree", [&]() -> Status {
    LASTREF_CHECK(root_ ? check_guarded() : ok());
    LASTREF_CHECK(make_or_join());
    LASTREF_TRY(thread, os_.start_thread([this] { serve(); }));
    thread_ = std::move(thread);
    return root_ ? spawn_tracker() : ok();
  });
  if (!made) {
    os_.saw(Probe::start_taken_back);
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
  if (!old_locks_.empty() || old_ledger_) {
    arguments.insert(arguments.end(), {old_locks_option, std::to_string(old_locks_.size())});
    fds.push_back({.here = old_ledger_ ? old_ledger_.get() : parts_.ledger.get(),
                   .number_there = old_ledger_fd});
    for (const LockFile& lock : old_locks_) {
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
        pauses == pauses_max) {
      return connected;
    }
    os_.saw(Probe::connecting_put_off);
    static_cast<void>(os_.poll({}, pause_before_connecting_again));
  }
}

/// Sends all holdings of this process, and then the unanswered requests. A register that was
/// counted, but not answered, is among the latter: the tracker must not take its name
/// for one that nobody holds before it has read all.
void Client::State::announce() {
  Message message{.verb = Verb::announce, .again = !requests_.empty(), .id = nonce_, .entries = {}};
  for (const auto& [resource, count] : holdings_) {
    message.entries.push_back({.resource = resource, .count = count});
  }
  const os::Fd self = self_.get();
  bool first = true;
  for (Packet& packet : encode_split(message)) {
    link_->post(std::move(packet), first ? std::span(&self, 1) : std::span<const os::Fd>());
    first = false;
  }
  for (const auto& [id, request] : requests_) {
    Message again = request->message;
    os_.saw(Probe::request_asked_again);
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
      broken_ = std::move(woken.error());  // Nobody will say it.
      monitor_->notify_all();
    }
  } else {
    on_its_way_ = posted_;
  }
}

/// Wakes the I/O thread. On an error it wakes for the last time.
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
  link_.reset();
  if (is_for_want_of_space(*broken_)) {
    // While this process lives, all other members would wait for its announcement.
    os_.saw(Probe::process_left_tree_starved);
    lock_.close_quietly();
  }
  // A process in the backlog of a tree without a tracker must not wait indefinitely.
  parts_.listener.close_quietly();
  monitor_->notify_all();
}

}  // namespace lastref::tracker
