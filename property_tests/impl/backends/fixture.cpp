#include "property_tests/impl/backends/fixture.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

constexpr const char* runtime_folder = "LASTREF_RUNTIME_FOLDER";

struct Print {
  std::ostream& out;

  void operator()(std::monostate) const { out << "nothing"; }
  void operator()(bool truth) const { out << (truth ? "true" : "false"); }
  void operator()(std::int64_t number) const { out << number; }
  void operator()(double number) const { out << number; }
  void operator()(const std::string& text) const { out << '"' << text << '"'; }
  void operator()(const ByteString& bytes) const { out << bytes.size() << " bytes"; }
  void operator()(const Array& array) const { out << "an array of " << array.nbytes() << " bytes"; }
  void operator()(const List& list) const {
    out << '[';
    for (const Value& each : list) {
      PrintTo(each, &out);
      out << ' ';
    }
    out << ']';
  }
  void operator()(const Map& map) const {
    out << '{';
    for (const auto& [key, value] : map) {
      out << key << ": ";
      PrintTo(value, &out);
      out << ' ';
    }
    out << '}';
  }
};

}  // namespace

void PrintTo(const Value& value, std::ostream* out) {
  std::visit(Print{*out}, value.content());
}

void PrintTo(const TaskFailure& failure, std::ostream* out) {
  *out << describe(failure);
}

void PrintTo(BackendKind kind, std::ostream* out) {
  *out << (kind == BackendKind::processes ? "processes"
           : kind == BackendKind::threads ? "threads"
                                          : "sequential");
}

}  // namespace lastref

namespace lastref::pretend {

namespace fs = std::filesystem;

Fixture::Fixture() {
  adopt_orphans();
  folder.make_folder("files");
  folder.make_folder("marks");
  set_variable(runtime_folder, folder.path("runtime"));
  session = Session::lead(os);
}

Fixture::~Fixture() {
  session = {};
  bury_all();
  set_variable(runtime_folder, "");
  EXPECT_THAT(files(), testing::IsEmpty());
  folder.remove("files");
  folder.remove("marks");
  if (folder.exists("runtime")) {
    EXPECT_THAT(folder.names(), testing::ElementsAre("runtime"));
    folder.remove("runtime");
  }
}

std::shared_ptr<ParallelBackend> Fixture::make(BackendKind kind) const {
  switch (kind) {
    case BackendKind::processes:
      return std::make_shared<ProcessBackend>(session, functions);
    case BackendKind::threads:
      return std::make_shared<ThreadingBackend>(session, functions);
    case BackendKind::sequential:
      return std::make_shared<SequentialBackend>(session, functions);
  }
  LASTREF_ASSERT(false);
}

BackendOptions Fixture::options(int n_jobs) const {
  return {.n_jobs = n_jobs,
          .arrays = {.max_nbytes = small_nbytes},
          .temporary = {.root = folder.path("files")}};
}

ParallelOptions Fixture::parallel(BackendKind kind, int n_jobs) const {
  return {.n_jobs = n_jobs,
          .backend = kind,
          .arrays = {.max_nbytes = small_nbytes},
          .temporary = {.root = folder.path("files")}};
}

std::vector<std::string> Fixture::files() const {
  std::vector<std::string> names;
  std::error_code gone;
  for (fs::directory_iterator at(folder.path("files"), gone), end; !gone && at != end;
       at.increment(gone)) {
    std::error_code also_gone;
    for (fs::directory_iterator in(at->path(), also_gone); !also_gone && in != end;
         in.increment(also_gone)) {
      names.push_back(in->path().filename());
    }
  }
  return names;
}

std::set<os::Pid> children() {
  std::set<os::Pid> all;
  std::error_code gone;
  for (fs::directory_iterator at("/proc/self/task", gone), end; !gone && at != end;
       at.increment(gone)) {
    std::ifstream line(at->path() / "children");
    all.insert(std::istream_iterator<os::Pid>(line), std::istream_iterator<os::Pid>());
  }
  return all;
}

Belongings belongings() {
  const auto count = [](const char* folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  };
  return {
      .children = children(), .descriptors = count("/proc/self/fd"), .threads = running_threads()};
}

void PrintTo(const Belongings& belongings, std::ostream* out) {
  *out << belongings.children.size() << " children, " << belongings.descriptors << " descriptors, "
       << belongings.threads << " threads";
}

Array array_of(std::size_t size, int value) {
  Array made = must(Array::zeros(dtype_of("|u1"), {size}));
  std::fill_n(made.mutable_data().value(), size, static_cast<std::byte>(value));
  return made;
}

}  // namespace lastref::pretend
