#include "property_tests/impl/tracker/generators.hpp"

#include <cstdint>
#include <limits>
#include <ostream>

namespace lastref {

std::ostream& operator<<(std::ostream& out, const Resource& resource) {
  constexpr std::size_t shown = 60;
  const Resource start{.type = resource.type, .name = resource.name.substr(0, shown)};
  out << to_text(start);
  if (resource.name.size() > shown) {
    out << "... (" << resource.name.size() << " bytes)";
  }
  return out;
}

}  // namespace lastref

namespace lastref::tracker {

std::ostream& operator<<(std::ostream& out, const MessageEntry& entry) {
  return out << entry.resource << " by " << entry.holder << " x " << entry.count;
}

std::ostream& operator<<(std::ostream& out, const Message& message) {
  out << "verb " << static_cast<int>(message.verb) << (message.more ? " more" : "")
      << (message.again ? " again" : "") << " id " << message.id << " status " << message.status
      << " {";
  for (const MessageEntry& entry : message.entries) {
    out << " " << entry;
  }
  return out << " }";
}

}  // namespace lastref::tracker

namespace lastref::pretend {

using tracker::Message;
using tracker::MessageEntry;
using tracker::Verb;

rc::Gen<std::string> any_name(std::size_t size_max) {
  const auto byte = rc::gen::weightedOneOf<char>({
      {4, rc::gen::inRange<char>('a', 'd')},
      {2, rc::gen::element('/', ':', '\n', ' ', '\\', '-', '+')},
      {1, rc::gen::nonZero<char>()},
  });
  const auto of_size = [byte](std::size_t size) {
    return rc::gen::container<std::string>(size, byte);
  };
  const auto filled = [size_max](char with) { return std::string(size_max, with); };
  return rc::gen::weightedOneOf<std::string>({
      {16, rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 24), of_size)},
      {2, of_size(1)},
      {1, rc::gen::map(byte, filled)},
  });
}

rc::Gen<Resource> any_resource() {
  return rc::gen::build<Resource>(rc::gen::set(&Resource::type,
                                               rc::gen::element(ResourceType::file,
                                                                ResourceType::folder,
                                                                ResourceType::semlock,
                                                                ResourceType::shm,
                                                                ResourceType::noop)),
                                  rc::gen::set(&Resource::name, any_name()));
}

rc::Gen<MessageEntry> any_entry() {
  return rc::gen::build<MessageEntry>(
      rc::gen::set(&MessageEntry::resource, any_resource()),
      rc::gen::set(&MessageEntry::holder, rc::gen::arbitrary<os::Pid>()),
      rc::gen::set(&MessageEntry::count,
                   rc::gen::oneOf(rc::gen::just<std::uint64_t>(1),
                                  rc::gen::just(tracker::count_max),
                                  rc::gen::inRange<std::uint64_t>(1, tracker::count_max))),
      rc::gen::set(&MessageEntry::identity,
                   rc::gen::oneOf(rc::gen::just(std::optional<Identity>()),
                                  rc::gen::cast<std::optional<Identity>>(
                                      rc::gen::build<Identity>(rc::gen::set(&Identity::device),
                                                               rc::gen::set(&Identity::inode),
                                                               rc::gen::set(&Identity::btime))))));
}

rc::Gen<Message> any_message(std::size_t entries_max) {
  const auto entries =
      rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, entries_max + 1), [](std::size_t count) {
        return rc::gen::container<std::vector<MessageEntry>>(count, any_entry());
      });
  return rc::gen::build<Message>(
      rc::gen::set(&Message::verb,
                   rc::gen::map(rc::gen::inRange<int>(1, 11),
                                [](int verb) { return static_cast<Verb>(verb); })),
      rc::gen::set(&Message::more),
      rc::gen::set(&Message::again),
      rc::gen::set(&Message::id),
      rc::gen::set(&Message::status),
      rc::gen::set(&Message::entries, entries));
}

}  // namespace lastref::pretend
