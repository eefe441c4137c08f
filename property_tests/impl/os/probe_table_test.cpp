// probe_table_test: the table of probes.
#include <cctype>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include <lastref/probe.hpp>

#include "harness/scenario/probes.hpp"

namespace lastref {
namespace {

TEST(ProbeTable, has_each_probe_at_its_place_and_fits_into_a_set) {
  const auto rows = probe_rows();
  ASSERT_LE(rows.size(), harness::probes_max);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(static_cast<std::size_t>(rows[at].probe), at) << rows[at].name;
  }
}

TEST(ProbeTable, no_two_rows_share_a_name_or_a_sentence) {
  std::set<std::string_view> names;
  std::set<std::string_view> sentences;
  for (const ProbeRow& row : probe_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(sentences.insert(row.sentence).second) << row.sentence;
  }
}

TEST(ProbeTable, sentences_begin_small_and_have_no_full_stop) {
  for (const ProbeRow& row : probe_rows()) {
    ASSERT_FALSE(row.sentence.empty()) << row.name;
    EXPECT_EQ(std::isupper(static_cast<unsigned char>(row.sentence.front())), 0) << row.name;
    EXPECT_FALSE(row.sentence.ends_with('.')) << row.name;
  }
}

}  // namespace
}  // namespace lastref
