#include <array>

#include <lastref/owners.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {
namespace {

int errno_of(const Status& status) {
  return status ? 0 : static_cast<int>(status.error().code);
}

}  // namespace

/// Runs `act` between its two notes.
Status Stage::noted(std::string_view word,
                    const Resource& resource,
                    const std::function<Status()>& act) {
  const std::string text = resource.name.empty() ? std::string() : to_text(resource);
  note(word, text, /*begins=*/true, 0);
  Status done = act();
  note(word, text, /*begins=*/false, errno_of(done));
  return done;
}

Status Stage::lead() {
  return noted("lead", {}, [&]() -> Status {
    client_ = tracker::Client::lead(os());
    LASTREF_TRY(tree, client_->tree());
    return ok();
  });
}

Status Stage::join() {
  return noted("join", {}, [&]() -> Status {
    LASTREF_TRY(client, tracker::Client::join(os(), tree_of_parent()));
    client_ = std::move(client);
    return ok();
  });
}

Status Stage::register_name(const Resource& resource, const std::optional<Identity>& identity) {
  return noted("register", resource, [&] { return client_->register_name(resource, identity); });
}

Status Stage::hold(const Resource& resource) {
  return noted("hold", resource, [&] { return client_->hold(resource); });
}

Status Stage::release(const Resource& resource) {
  return noted("release", resource, [&] { return client_->release(resource); });
}

Status Stage::forget(const Resource& resource) {
  return noted("forget", resource, [&] { return client_->forget(resource); });
}

Status Stage::make(const Resource& resource) {
  return noted("make", resource, [&]() -> Status {
    switch (resource.type) {
      case ResourceType::file: {
        LASTREF_TRY(file, os::open_file(os(), resource.name, {.write = true, .create = true}));
        LASTREF_CHECK(os::write_all(os(), file.get(), os::bytes_of(resource.name)));
        return file.close();
      }
      case ResourceType::folder:
        return os().make_folder(resource.name, 0700);
      case ResourceType::semlock:
        return os().create_semaphore(resource.name, 0600);
      case ResourceType::shm: {
        LASTREF_TRY(object, os().create_shm(resource.name, 0600));
        return os::UniqueFd(os(), object).close();
      }
      case ResourceType::noop:
        return ok();
    }
    return ok();
  });
}

void Stage::leave() {
  static_cast<void>(noted("leave", {}, [&]() -> Status {
    client_.reset();
    return ok();
  }));
}

Status Stage::word(std::string_view name, const std::function<Status()>& act) {
  return noted(name, {}, act);
}

Status Stage::word_with_answer(std::string_view name,
                               const std::string& asked,
                               const std::function<Result<std::string>()>& act) {
  note(name, asked, /*begins=*/true, 0);
  const Result<std::string> answer = act();
  const Status done = answer ? ok() : Status(tl::unexpected<Error>(answer.error()));
  note(name, answer.value_or(asked), /*begins=*/false, errno_of(done));
  return done;
}

bool Stage::must_exist(const Resource& resource) {
  std::string path = resource.name;
  if (resource.type == ResourceType::shm) {
    path = "/dev/shm" + resource.name;
  } else if (resource.type == ResourceType::semlock) {
    path = "/dev/shm/sem." + resource.name.substr(1);
  }
  const auto status = os().status_at(path);
  if (!status && status.error().code == std::errc::no_such_file_or_directory &&
      !status.error().injected) {
    refute("no-premature-unlink: a name that is held is there", to_text(resource) + " is gone");
    return false;
  }
  return status.has_value();
}

Resource Stage::file(const std::string& name) const {
  return {.type = ResourceType::file, .name = folder() + "/" + name};
}

Resource Stage::folder_of(const std::string& name) const {
  return {.type = ResourceType::folder, .name = folder() + "/" + name};
}

Resource Stage::semaphore(const std::string& name) const {
  return {.type = ResourceType::semlock, .name = "/" + name};
}

Resource Stage::shm(const std::string& name) const {
  return {.type = ResourceType::shm, .name = "/" + name};
}

}  // namespace lastref::harness
