#include "property_tests/impl/os/contract.hpp"

#include <array>
#include <ostream>

namespace lastref::os {

void PrintTo(Fd fd, std::ostream* out) {
  *out << "fd " << static_cast<int>(fd);
}

void PrintTo(const ChildExit& exit, std::ostream* out) {
  *out << (exit.killed ? "killed by signal " : "exit code ") << exit.code;
}

void PrintTo(const Peer& peer, std::ostream* out) {
  *out << "pid " << peer.pid << " of user " << peer.user;
}

void PrintTo(const LockHolder& holder, std::ostream* out) {
  *out << "pid " << holder.pid << " kind " << static_cast<int>(holder.range.kind) << " from "
       << holder.range.start << " length " << holder.range.length;
}

void PrintTo(const FileStatus& status, std::ostream* out) {
  *out << "device " << status.device << " inode " << status.inode << " size " << status.size
       << " mode " << status.mode << " owner " << status.owner << " kind "
       << static_cast<int>(status.kind);
}

}  // namespace lastref::os

namespace lastref::contract {

using os::Fd;
using os::Os;
using os::UniqueFd;

namespace {

constexpr int fds_looked_at = 256;

}  // namespace

void PrintTo(const FixtureRow& row, std::ostream* out) {
  *out << row.name;
}

testing::AssertionResult fails(const Status& result, Call call, std::errc code) {
  if (result) {
    return testing::AssertionFailure() << name_of(call) << " succeeded";
  }
  const Error& error = result.error();
  if (error.code != code || error.call != call || error.injected) {
    return testing::AssertionFailure()
           << "seen " << describe(error) << "; expected " << name_of(call) << ": "
           << std::make_error_code(code).message();
  }
  return testing::AssertionSuccess() << describe(error);
}

testing::AssertionResult worked(const Status& result) {
  if (!result) {
    return testing::AssertionFailure() << describe(result.error());
  }
  return testing::AssertionSuccess() << "it worked";
}

Running::Running(Os& os, const os::SpawnOptions& options) : os_(os) {
  const os::Child child = value_of(os.spawn(options));
  pid_ = child.pid;
  process_ = UniqueFd(os, child.process);
  ended_ = child.process == Fd::none;
}

Running::~Running() {
  if (!ended_) {
    kill();
  }
}

os::ChildExit Running::end() {
  EXPECT_TRUE(wait_for(os_, process())) << "a child does not end";
  const auto exit = value_of(os_.wait_child(process()));
  EXPECT_TRUE(exit.has_value());
  ended_ = true;
  return exit.value_or(os::ChildExit{});
}

os::ChildExit Running::kill() {
  const Status killed = os_.signal_process(process(), os::Signal::kill);
  if (!killed && killed.error().code != std::errc::no_such_process) {
    ADD_FAILURE() << describe(killed.error());
  }
  return end();
}

Scene::Scene(Os& os, Fixture& fixture)
    : os_(os),
      fixture_(fixture),
      tag_("contract_" + random_text(os)),
      folder_(fixture.base() + "/" + tag_),
      fds_before_(open_fds()) {
  EXPECT_TRUE(worked(os.make_folder(folder_, 0700)));
}

Scene::~Scene() {
  EXPECT_TRUE(worked(os_.remove_folder(folder_)));
  EXPECT_EQ(open_fds(), fds_before_) << "a descriptor is left";
}

std::size_t Scene::open_fds() {
  std::size_t count = 0;
  for (int i = 0; i < fds_looked_at; ++i) {
    count += os_.status(Fd{i}) ? 1U : 0U;
  }
  return count;
}

UniqueFd Scene::open(const os::PathAt& where, const os::OpenOptions& options) {
  return value_of(os::open_file(os_, where, options));
}

UniqueFd Scene::create(const std::string& name, std::string_view text) {
  UniqueFd file = open(path(name), {.write = true, .create = true});
  EXPECT_TRUE(worked(os::write_all(os_, file.get(), os::bytes_of(text))));
  return file;
}

std::string Scene::text_of(const std::string& name) {
  const UniqueFd file = open(path(name));
  std::string text;
  for (;;) {
    std::string piece = read_some(os_, file.get());
    if (piece.empty()) {
      return text;
    }
    text += piece;
  }
}

void Scene::remove(const std::string& name) {
  EXPECT_TRUE(worked(os_.unlink(path(name))));
}

Pipe Scene::pipe() {
  const os::PipeEnds ends = value_of(os_.make_pipe());
  return {.read = UniqueFd(os_, ends.read), .write = UniqueFd(os_, ends.write)};
}

UniqueFd Scene::listener(const std::string& name) {
  UniqueFd socket(os_, value_of(os_.make_socket()));
  EXPECT_TRUE(worked(os_.bind(socket.get(), path(name))));
  EXPECT_TRUE(worked(os_.listen(socket.get())));
  return socket;
}

Pair Scene::pair() {
  const UniqueFd door = listener("pair");
  UniqueFd left(os_, value_of(os_.make_socket()));
  EXPECT_TRUE(worked(os_.connect(left.get(), path("pair"))));
  UniqueFd right(os_, value_of(os_.accept(door.get())));
  remove("pair");
  return {.left = std::move(left), .right = std::move(right)};
}

bool Scene::exists(const std::string& name) {
  return os_.status_at(path(name)).has_value();
}

void OsContract::act(const std::function<void(Scene&)>& body) {
  const std::unique_ptr<Fixture> fixture = GetParam().make();
  fixture->run([&](Os& os) {
    Scene scene(os, *fixture);
    body(scene);
  });
}

std::string random_text(Os& os) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::byte, 8> bytes{};
  EXPECT_TRUE(worked(os.entropy(bytes)));
  std::string text;
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<std::size_t>(byte) / digits.size()];
    text += digits[std::to_integer<std::size_t>(byte) % digits.size()];
  }
  return text;
}

bool wait_for(Os& os, Fd fd) {
  std::array items = {os::PollItem{.fd = fd, .want_read = true}};
  const auto count = os::retry_interrupted([&] { return os.poll(items, patience); });
  EXPECT_TRUE(worked(count));
  return count.value_or(0) == 1;
}

std::string read_some(Os& os, Fd fd) {
  EXPECT_TRUE(wait_for(os, fd));
  std::string text(4096, '\0');
  const std::size_t size = value_of(os.read(fd, std::as_writable_bytes(std::span(text))));
  text.resize(size);
  return text;
}

std::string next_message(Os& os, Fd socket) {
  EXPECT_TRUE(wait_for(os, socket));
  std::string text(4096, '\0');
  const os::Received received =
      value_of(os.receive(socket, std::as_writable_bytes(std::span(text))));
  EXPECT_TRUE(received.fds.empty());
  EXPECT_FALSE(received.truncated);
  text.resize(received.size);
  return text;
}

Status send_text(Os& os, Fd socket, std::string_view text) {
  return os.send(socket, os::bytes_of(text), {});
}

os::PollItem look_at(Os& os, Fd fd) {
  std::array items = {os::PollItem{.fd = fd, .want_read = true, .want_write = true}};
  EXPECT_TRUE(worked(os.poll(items, std::chrono::nanoseconds(0))));
  return items[0];
}

}  // namespace lastref::contract
