// The public operations of Client: what each does to the state, and what a forked child does first.
#include <utility>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/client_state.hpp"

namespace lastref::tracker {

Client::Client(std::unique_ptr<State> state) : state_(state.release()) {}

Client::~Client() {
  State* state = state_.load();
  if (state->process() == state->os().process_token()) {
    delete state;  // NOLINT(cppcoreguidelines-owning-memory): an atomic cannot own
  }
  // A forked child that never used the client leaves its parent's state alone: the thread of that
  // state does not exist here, its lock may be held permanently, and its descriptors are only
  // copies.
}

std::unique_ptr<Client> Client::lead(os::Os& os, RootOptions options) noexcept {
  std::unique_ptr<Client> client;
  static_cast<void>(os::had_memory([&] {
    auto state = std::make_unique<State>(os, std::move(options), std::string());
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): had_memory catches it.
    client.reset(new Client(std::move(state)));
  }));
  return client;
}

Result<std::unique_ptr<Client>> Client::join(os::Os& os, const std::string& tree) noexcept {
  return os::within_memory("the tree", [&]() -> Result<std::unique_ptr<Client>> {
    auto state = std::make_unique<State>(os, std::nullopt, tree);
    LASTREF_CHECK(state->ready());
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): within_memory catches it.
    return std::unique_ptr<Client>(new Client(std::move(state)));
  });
}

/// The state of the calling process. In a forked child that is a new one: the parent's, lock and
/// thread and identity, stays untouched (T8).
Client::State& Client::mine() {
  State* state = state_.load();
  if (state->process() == state->os().process_token()) {
    return *state;
  }
  auto fresh = std::make_unique<State>(state->os(), std::nullopt, state->folder());
  if (state_.compare_exchange_strong(state, fresh.get())) {
    return *fresh.release();
  }
  return *state;
}

/// Calls `act` with the name that is counted. It is absolute, so that it depends on no process's
/// working folder (E2).
template <typename Act>
Status Client::with_absolute(const Resource& resource, Act act) noexcept {
  return os::within_memory("the tracker", [&]() -> Status {
    LASTREF_CHECK(check_name(resource));
    if (!is_relative(resource)) {
      return act(resource);
    }
    LASTREF_TRY(working, mine().os().working_folder());
    const Resource absolute = {
        .type = resource.type,
        .name = working + (working.ends_with('/') ? "" : "/") + resource.name};
    LASTREF_CHECK(check_name(absolute));
    return act(absolute);
  });
}

Result<std::string> Client::tree() noexcept {
  return os::within_memory("the tree", [&] { return mine().tree(); });
}

Status Client::register_name(const Resource& resource,
                             const std::optional<Identity>& identity) noexcept {
  return with_absolute(resource, [&](const Resource& name) {
    return mine().request(Verb::register_, &name, identity);
  });
}

Status Client::identify(const Resource& resource,
                        const std::optional<Identity>& identity) noexcept {
  return with_absolute(resource, [&](const Resource& name) {
    return mine().request(Verb::identify, &name, identity);
  });
}

Status Client::hold(const Resource& resource) noexcept {
  return with_absolute(resource, [&](const Resource& name) { return mine().hold(name); });
}

Status Client::release(const Resource& resource) noexcept {
  return with_absolute(resource, [&](const Resource& name) { return mine().release(name); });
}

Status Client::forget(const Resource& resource) noexcept {
  return with_absolute(resource,
                       [&](const Resource& name) { return mine().request(Verb::forget, &name); });
}

Result<std::vector<Count>> Client::counts() noexcept {
  return os::within_memory("the tracker", [&]() -> Result<std::vector<Count>> {
    std::vector<MessageEntry> entries;
    LASTREF_CHECK(mine().request(Verb::counts, nullptr, {}, &entries));
    std::vector<Count> counts;
    counts.reserve(entries.size());
    for (MessageEntry& entry : entries) {
      counts.push_back(
          {.resource = std::move(entry.resource), .holder = entry.holder, .count = entry.count});
    }
    return counts;
  });
}

Status Client::probe() noexcept {
  return os::within_memory("the tracker", [&] { return mine().request(Verb::probe, nullptr); });
}

}  // namespace lastref::tracker
