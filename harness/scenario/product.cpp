#include <algorithm>

#include <lastref/owners.hpp>

#include "harness/program/arena.hpp"
#include "harness/scenario/stage.hpp"

namespace lastref::harness {
namespace {

int errno_of(const Status& status) {
  return status ? 0 : static_cast<int>(status.error().code);
}

/// What `act` returns, or the error of a failed Result that it asked for a value. Allocations in it
/// may fail; those of the recording around it do not.
template <typename T>
Result<T> as_the_product(const std::function<Result<T>()>& act) {
  const AllocationScope scope(/*is_products=*/true);
  try {
    return act();
  } catch (const Failure& access) {
    return failure(access.error());
  }
}

}  // namespace

Status first_failure(std::initializer_list<Status> done) {
  const auto failed = std::ranges::find(done, false, &Status::has_value);
  return failed == done.end() ? ok() : *failed;
}

/// Runs `act` between its two records.
Status Product::noted(std::string_view operation,
                      const Resource& resource,
                      const std::function<Status()>& act) {
  const AllocationScope scope(/*is_products=*/false);
  const std::string text = resource.name.empty() ? std::string() : to_text(resource);
  log_.note(operation, text, /*begins=*/true, 0);
  Status done = as_the_product(act);
  log_.note(operation, text, /*begins=*/false, errno_of(done));
  return done;
}

Status Product::lead() {
  return noted("lead", {}, [&]() -> Status {
    client_ = tracker::Client::lead(stage_.os());
    if (!client_) {
      return failure(std::errc::not_enough_memory, "a client");
    }
    LASTREF_TRY(tree, client_->tree());
    return ok();
  });
}

Status Product::join() {
  const std::span<const std::string> arguments = stage_.arguments();
  return join(arguments.empty() ? std::string() : arguments.front());
}

Status Product::join(const std::string& tree) {
  return noted("join", {}, [&]() -> Status {
    LASTREF_TRY(client, tracker::Client::join(stage_.os(), tree));
    client_ = std::move(client);
    return ok();
  });
}

Status Product::register_name(const Resource& resource, const std::optional<Identity>& identity) {
  return noted("register", resource, [&] { return client_->register_name(resource, identity); });
}

Status Product::hold(const Resource& resource) {
  return noted("hold", resource, [&] { return client_->hold(resource); });
}

Status Product::release(const Resource& resource) {
  return noted("release", resource, [&] { return client_->release(resource); });
}

Status Product::forget(const Resource& resource) {
  return noted("forget", resource, [&] { return client_->forget(resource); });
}

Status Product::make(const Resource& resource) {
  return noted("make", resource, [&]() -> Status {
    switch (resource.type) {
      case ResourceType::file: {
        LASTREF_TRY(file,
                    os::open_file(stage_.os(), resource.name, {.write = true, .create = true}));
        LASTREF_CHECK(os::write_all(stage_.os(), file.get(), os::bytes_of(resource.name)));
        return file.close();
      }
      case ResourceType::folder:
        return stage_.os().make_folder(resource.name, 0700);
      case ResourceType::semlock:
        return stage_.os().create_semaphore(resource.name, 0600);
      case ResourceType::shm: {
        LASTREF_TRY(object, stage_.os().create_shm(resource.name, 0600));
        return os::UniqueFd(stage_.os(), object).close();
      }
      case ResourceType::noop:
        return ok();
    }
    return ok();
  });
}

void Product::leave() {
  const AllocationScope notes(/*is_products=*/false);
  log_.note("leave", {}, /*begins=*/true, 0);
  {
    const AllocationScope scope(/*is_products=*/true);
    client_.reset();
  }
  log_.note("leave", {}, /*begins=*/false, 0);
}

Status Product::operation(std::string_view name, const std::function<Status()>& act) {
  return noted(name, {}, act);
}

Status Product::operation_with_answer(std::string_view name,
                                      const std::string& asked,
                                      const std::function<Result<std::string>()>& act) {
  const AllocationScope scope(/*is_products=*/false);
  log_.note(name, asked, /*begins=*/true, 0);
  const Result<std::string> answer = as_the_product(act);
  Status done = status_of(answer);
  log_.note(name, answer.value_or(asked), /*begins=*/false, errno_of(done));
  return done;
}

void Product::must_exist(const Resource& resource) {
  std::string path = resource.name;
  if (resource.type == ResourceType::shm) {
    path = "/dev/shm" + resource.name;
  } else if (resource.type == ResourceType::semlock) {
    path = "/dev/shm/sem." + resource.name.substr(1);
  }
  const auto status = stage_.os().status_at(path);
  const bool is_gone = !status && status.error().code == std::errc::no_such_file_or_directory &&
                       !status.error().injected;
  // A client that reports the loss of its connection holds nothing.
  if (is_gone && (!has_client() || client().probe())) {
    stage_.refute("no-premature-unlink: a name that is held is there",
                  to_text(resource) + " is gone");
  }
}

Resource Product::file(const std::string& name) const {
  return {.type = ResourceType::file, .name = stage_.folder() + "/" + name};
}

Resource Product::folder(const std::string& name) const {
  return {.type = ResourceType::folder, .name = stage_.folder() + "/" + name};
}

Resource Product::semaphore(const std::string& name) const {
  return {.type = ResourceType::semlock, .name = "/" + name};
}

Resource Product::shm(const std::string& name) const {
  return {.type = ResourceType::shm, .name = "/" + name};
}

}  // namespace lastref::harness
