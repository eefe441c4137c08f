// loky_line: one line of loky's protocol, without its end.
#include "impl/tracker/loky.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

std::string to_line(const tracker::LokyLine& line) {
  const std::string rest =
      ':' + line.resource.name + ':' + std::string(name_of(line.resource.type));
  switch (line.verb) {
    case tracker::LokyVerb::register_:
      return "REGISTER" + rest;
    case tracker::LokyVerb::unregister:
      return "UNREGISTER" + rest;
    case tracker::LokyVerb::maybe_unlink:
      return "MAYBE_UNLINK" + rest;
    case tracker::LokyVerb::probe:
      return "PROBE";
  }
  LASTREF_ASSERT(false);
}

}  // namespace

void check(os::Bytes input) {
  const std::string_view text = text_of(input);
  const auto line = in_proportion(input, [&] { return tracker::parse_loky_line(text); });
  if (!line) {
    expect_refused(line.error(), std::errc::bad_message);
    return;
  }
  if (line->verb == tracker::LokyVerb::probe) {
    expect(line->resource == Resource{}, "a PROBE is about nothing");
    expect(text.substr(0, text.find(':')) == "PROBE", "nothing else is a PROBE");
    return;
  }
  expect(check_name(line->resource).has_value(), "a name can be");
  expect(to_line(*line) == text, "no two lines mean the same");
}

}  // namespace lastref::fuzz
