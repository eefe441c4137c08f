// os_contract_sequences_test: any sequence of calls on files has the same results on the simulated
// kernel and on the real one.
//
// The calls are those of one process that has three descriptors and five names. What the contract
// leaves open is not compared: numbers of descriptors and inodes, sizes of folders, kinds of file
// systems.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {
namespace {

using os::Fd;
using os::UniqueFd;

constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t slots = 3;
constexpr const char* names[] = {"a", "b", "d", "d/a", "d/b"};

/// One step; `name`, `other`, `slot`, `offset` and `size` are used as far as the call has them.
struct Step {
  Call call = Call::none;
  std::string name = {};
  std::string other = {};
  std::size_t slot = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  os::OpenOptions how = {};
};

void showValue(const Step& step, std::ostream& out) {
  out << name_of(step.call) << " '" << step.name << "' '" << step.other << "' slot " << step.slot
      << " at " << step.offset << " size " << step.size << (step.how.create ? " create" : "")
      << (step.how.write ? " write" : "") << (step.how.append ? " append" : "");
}

rc::Gen<os::OpenOptions> any_options() {
  return rc::gen::element<os::OpenOptions>(os::OpenOptions{},
                                           os::OpenOptions{.write = true},
                                           os::OpenOptions{.write = true, .create = true},
                                           os::OpenOptions{.write = true, .create = true},
                                           os::OpenOptions{.write = true, .append = true});
}

rc::Gen<Call> any_call() {
  return rc::gen::element(Call::open,
                          Call::open,
                          Call::open,
                          Call::close,
                          Call::read,
                          Call::read_at,
                          Call::write,
                          Call::write_at,
                          Call::sync,
                          Call::punch_hole,
                          Call::status,
                          Call::status_at,
                          Call::unlink,
                          Call::rename,
                          Call::rename_new,
                          Call::link,
                          Call::allocate,
                          Call::lock_folder,
                          Call::make_folder,
                          Call::remove_folder,
                          Call::file_system);
}

/// The two paths of a rename, which are checked in an order of their own.
rc::Gen<std::string> any_end() {
  return rc::gen::element<std::string>(
      "a", "b", "d", "d/a", "d/b", "a/", "d/", "d/.", "d/..", "missing/a");
}

Step any_step() {
  Step step;
  step.call = *any_call();
  const bool renames =
      step.call == Call::rename || step.call == Call::rename_new || step.call == Call::link;
  step.name =
      renames ? *any_end()
              : *rc::gen::elementOf(std::vector<std::string>(std::begin(names), std::end(names)));
  step.other = *any_end();
  step.slot = *rc::gen::inRange<std::size_t>(0, slots);
  step.offset = *rc::gen::element<std::uint64_t>(
      0, 1, 100, 4095, 4096, 4097, 8192, offset_max, offset_max + 1);
  step.size = *rc::gen::element<std::uint64_t>(0, 1, 10, 4096, 9000);
  step.how = *any_options();
  return step;
}

/// Makes steps on one Os, in a folder of their own, and records the result of each.
class Player {
 public:
  Player(os::Os& os, std::string folder) : os_(os), folder_(std::move(folder)) {}

  std::vector<std::string> play(const std::vector<Step>& steps) {
    note(os_.make_folder(folder_, 0700));
    for (const Step& step : steps) {
      make(step);
    }
    for (const char* const name : names) {
      note_content(path(name));
    }
    for (UniqueFd& slot : slots_) {
      slot.close_quietly();
    }
    note(remove_all(folder_));
    return std::move(seen_);
  }

 private:
  std::string path(const std::string& name) const { return folder_ + '/' + name; }

  /// Removes a folder and its contents: folders may have been moved into folders.
  Status remove_all(const std::string& folder) {
    {
      LASTREF_TRY(open, os::open_file(os_, folder, {.folder = true}));
      LASTREF_TRY(entries, os_.read_folder(open.get()));
      for (const os::FolderEntry& entry : entries) {
        const std::string below = folder + '/' + entry.name;
        LASTREF_CHECK(entry.kind == os::FileKind::folder ? remove_all(below) : os_.unlink(below));
      }
    }
    return os_.remove_folder(folder);
  }

  void note(const Status& status) {
    seen_.emplace_back(status ? "done" : strerrorname_np(static_cast<int>(status.error().code)));
  }
  template <typename T>
  void note(const Result<T>& result) {
    note(status_of(result));
  }
  void note(const Result<std::size_t>& count) {
    note(status_of(count));
    seen_.back() += count ? ' ' + std::to_string(*count) : "";
  }
  void note(const Result<os::FileStatus>& status) {
    note(status_of(status));
    if (status) {
      const bool is_file = status->kind == os::FileKind::regular;
      seen_.back() += " kind " + std::to_string(static_cast<int>(status->kind)) + " mode " +
                      std::to_string(status->mode) +
                      (is_file ? " size " + std::to_string(status->size) : "");
    }
  }
  /// The bytes that were read, in runs of equal bytes.
  void note(const Result<std::size_t>& count, std::string_view bytes) {
    note(count);
    if (!count) {
      return;
    }
    for (std::size_t at = 0; at < *count;) {
      const std::size_t end = std::min(bytes.find_first_not_of(bytes[at], at), *count);
      seen_.back() += ", " + std::to_string(end - at) + " of " + std::to_string(bytes[at]);
      at = end;
    }
  }
  void note_content(const std::string& whole_path) {
    const auto file = os::open_file(os_, whole_path, {});
    note(status_of(file));
    if (file) {
      std::string text(32768, '?');
      const auto bytes = std::as_writable_bytes(std::span(text));
      note(os_.read_at(file->get(), bytes, 0), text);
    }
  }

  void make(const Step& step) {
    switch (step.call) {
      case Call::open: {
        auto file = os::open_file(os_, path(step.name), step.how);
        note(status_of(file));
        if (file) {
          slots_.at(step.slot) = std::move(*file);
        }
        return;
      }
      case Call::close:
        return note(slots_.at(step.slot).close());
      case Call::status_at:
        return note(os_.status_at(path(step.name)));
      case Call::unlink:
        return note(os_.unlink(path(step.name)));
      case Call::rename:
        return note(os_.rename(path(step.name), path(step.other)));
      case Call::rename_new:
        return note(os_.rename_new(path(step.name), path(step.other)));
      case Call::link:
        return note(os_.link(path(step.name), path(step.other)));
      case Call::make_folder:
        return note(os_.make_folder(path(step.name), 0700));
      case Call::remove_folder:
        return note(os_.remove_folder(path(step.name)));
      case Call::file_system:
        return note(os_.file_system(path(step.name)).map([](std::uint64_t) {}));
      default:
        return make_on_descriptor(step, slots_.at(step.slot).get());
    }
  }

  void make_on_descriptor(const Step& step, Fd fd) {
    // Each write has a letter of its own.
    std::string text(step.size, static_cast<char>('a' + seen_.size() % 26));
    const auto bytes = std::as_writable_bytes(std::span(text));
    switch (step.call) {
      case Call::read:
        return note(os_.read(fd, bytes), text);
      case Call::read_at:
        return note(os_.read_at(fd, bytes, step.offset), text);
      case Call::write:
        return note(os_.write(fd, bytes));
      case Call::write_at:
        return note(os_.write_at(fd, bytes, step.offset));
      case Call::sync:
        return note(os_.sync(fd));
      case Call::allocate:
        return note(os_.allocate(fd, step.offset, step.size));
      case Call::lock_folder:
        return note(os_.lock_folder(fd));
      case Call::punch_hole:
        return note(os_.punch_hole(fd, step.offset, step.size));
      default:
        return note(os_.status(fd));
    }
  }

  os::Os& os_;
  std::string folder_;
  std::array<UniqueFd, slots> slots_;
  std::vector<std::string> seen_;
};

std::vector<std::string> answers_of(const FixtureRow& row, const std::vector<Step>& steps) {
  std::vector<std::string> answers;
  const std::unique_ptr<Fixture> fixture = row.make();
  fixture->run([&](os::Os& os) {
    answers = Player(os, fixture->base() + "/contract_" + random_text(os)).play(steps);
  });
  return answers;
}

RC_GTEST_PROP(ContractSequences, the_simulated_kernel_answers_as_the_real_one_does, ()) {
  const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::exec(any_step));
  const auto seen = answers_of(sim_fixture(), steps);
  const auto expected = answers_of(kernel_fixture(), steps);
  RC_ASSERT(expected.back() == "done");
  RC_ASSERT(seen == expected);
}

}  // namespace
}  // namespace lastref::contract
