#include <memory>
#include <utility>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

namespace lastref::os {

ProcessObjects::ProcessObjects(std::unique_ptr<Monitor> monitor,
                               HasRecordLock has_record_lock) noexcept
    : monitor_(std::move(monitor)), has_record_lock_(has_record_lock) {}

ProcessObjects::~ProcessObjects() = default;

struct GenerationsOfObjects::Generation {
  Generation(std::uint64_t its_process,
             std::unique_ptr<Monitor> monitor,
             ProcessObjects::HasRecordLock has_record_lock,
             Generation* its_parents) noexcept
      : process(its_process), objects(std::move(monitor), has_record_lock), parents(its_parents) {}

  std::uint64_t process;
  ProcessObjects objects;
  Generation* parents;
};

GenerationsOfObjects::~GenerationsOfObjects() {
  // Only the newest: a mutex that a thread of a parent held cannot be destroyed.
  std::unique_ptr<Generation>(newest_.load());
}

ProcessObjects& GenerationsOfObjects::of(Os& os, std::uint64_t process) {
  Generation* known = newest_.load();
  while (known == nullptr || known->process != process) {
    auto made = std::make_unique<Generation>(process, os.make_monitor(), has_record_lock_, known);
    if (newest_.compare_exchange_strong(known, made.get())) {
      return made.release()->objects;
    }
  }
  return known->objects;
}

}  // namespace lastref::os
