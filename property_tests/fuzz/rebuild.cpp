// rebuild: an array from an untrusted reduction and an untrusted file.
//
// The input is the size of the reduction (two bytes, little-endian; the highest bit gives whether
// references are attributed), the reduction, and the file.
#include <map>
#include <memory>

#include <lastref/reducers.hpp>

#include "property_tests/fuzz/file_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

constexpr std::size_t attributed_bit = 0x8000;

class Books final : public References {
 public:
  explicit Books(bool attributed) noexcept : attributed_(attributed) {}

  std::map<std::string, int> held;
  int takes = 0;

  using References::register_name;
  Status register_name(const Resource&, const std::optional<Identity>&) override {
    expect(false, "a receiver registers nothing");
    return ok();
  }
  Status hold(const Resource& resource) override {
    ++held[resource.name];
    ++takes;
    return ok();
  }
  Status release(const Resource& resource) override {
    --held[resource.name];
    return ok();
  }
  Status forget(const Resource&) override {
    expect(false, "a receiver forgets nothing");
    return ok();
  }
  bool is_attributed() const noexcept override { return attributed_; }

 private:
  bool attributed_;
};

struct Journey {
  std::string filename;    ///< Empty: the elements themselves are sent.
  bool takes = false;      ///< A reference is taken,
  bool gives_back = true;  ///< and released after the last view.
};

Journey journey_of(const Reduction& reduction) {
  if (const auto* view = std::get_if<StridedFromMemmap>(&reduction)) {
    return {.filename = view->filename, .takes = view->unlink};
  }
  if (const auto* load = std::get_if<LoadTemporaryMemmap>(&reduction)) {
    return {.filename = load->filename, .takes = true, .gives_back = load->unlink_on_gc_collect};
  }
  return {};
}

/// Reads every element.
void touch(const Array& array) {
  unsigned sum = 0;
  for (const std::byte byte : array.bounds()) {
    sum += std::to_integer<unsigned>(byte);
  }
  const volatile unsigned seen = sum;
  static_cast<void>(seen);
}

void expect_balance(const Books& books, const Journey& journey, bool rebuilt) {
  const auto found = books.held.find(journey.filename);
  const int left = found == books.held.end() ? 0 : found->second;
  if (books.is_attributed()) {
    const bool keeps = rebuilt && journey.takes && !journey.gives_back;
    expect(books.takes == (journey.takes ? 1 : 0), "a reference is taken before the file is");
    expect(left == (keeps ? 1 : 0), "a reference that was taken is released");
  } else {
    expect(books.takes == 0, "without attribution, the sender has taken the reference");
    expect(left == (journey.takes && journey.gives_back ? -1 : 0),
           "the sender's reference is released");
  }
}

}  // namespace

void check(os::Bytes input) {
  if (input.size() < 2) {
    return;
  }
  const std::size_t word =
      std::to_integer<std::size_t>(input[0]) | std::to_integer<std::size_t>(input[1]) << 8U;
  const os::Bytes rest = input.subspan(2);
  const std::size_t size = std::min(word & ~attributed_bit, rest.size());
  const auto reduction = decode_reduction(rest.first(size));
  if (!reduction) {
    return;
  }
  FileOs os(rest.subspan(size));
  const auto books = std::make_shared<Books>((word & attributed_bit) != 0);
  const Journey journey = journey_of(*reduction);
  bool rebuilt = false;
  {
    Receiver receiver(os, books);
    const Allowance allowance(input.size(), 1024);
    if (const auto array = receiver.rebuild(*reduction)) {
      rebuilt = true;
      expect(receiver.is_temporary(journey.filename) == journey.takes, "temporaries are known");
      touch(*array);
    } else {
      expect_refused(array.error(),
                     std::errc::bad_message,
                     std::errc::identifier_removed,
                     std::errc::invalid_argument,
                     std::errc::value_too_large,
                     std::errc::result_out_of_range);
    }
  }
  for (const std::string& name : os.opened) {
    expect(name == journey.filename, "no other file is opened");
  }
  expect(os.written == 0, "nothing is written");
  expect(os.is_at_rest(), "the file is closed and unmapped");
  expect_balance(*books, journey, rebuilt);
}

}  // namespace lastref::fuzz
