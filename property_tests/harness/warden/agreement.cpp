#include "property_tests/harness/warden/agreement.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lastref::harness::warden {
namespace {

/// An unfinished dump has a name of its own, which is removed with its folder.
bool is_part_in(const std::set<std::string>& counted, const std::string& name) {
  return name.ends_with(".npy.part") && counted.contains(name.substr(0, name.rfind('/')));
}

}  // namespace

std::set<std::string> names_of(const std::vector<tracker::Count>& counts) {
  std::set<std::string> names;
  for (const tracker::Count& each : counts) {
    names.insert(each.resource.name);
  }
  return names;
}

bool Agreement::is_counted_kind(const std::string& name) const {
  return name.starts_with(folder_ + "/temp/") || name.starts_with(folder_ + "/cache/lastref/");
}

/// Otherwise there are only the folder for caches and the files of the tracker itself.
std::set<std::string> Agreement::names_in(const std::vector<Leftover>& there,
                                          const std::string& at) {
  std::set<std::string> names;
  for (const Leftover& each : there) {
    if (is_counted_kind(each.path)) {
      names.insert(each.path);
    } else if (each.path != folder_ + "/cache/lastref" && each.path != folder_ + "/runtime" &&
               !each.path.starts_with(folder_ + "/runtime/")) {
      complaints_.push_back(fmt::format("{}: {} is of no kind that was expected", at, each.path));
    }
  }
  return names;
}

void Agreement::judge(const Look& look) {
  judge_names(look);
  judge_holders(look);
}

void Agreement::judge_names(const Look& look) {
  const std::set<std::string> counted = names_of(look.counts);
  const std::set<std::string> before = names_in(look.before, look.at);
  const std::set<std::string> after = names_in(look.after, look.at);
  if (!promised_.empty() && !before.contains(promised_)) {
    complaints_.push_back(fmt::format("{}: {} was counted, and not made", look.at, promised_));
  }
  promised_ = counted.contains(look.made) && !before.contains(look.made) ? look.made : "";
  for (const std::string& name : counted) {
    if (!before.contains(name) && name != promised_) {
      complaints_.push_back(fmt::format("{}: {} is counted, and is not there", look.at, name));
    }
  }
  if (is_counted_kind(look.made) && !counted.contains(look.made) &&
      !is_part_in(counted, look.made) && !before.contains(look.made)) {
    complaints_.push_back(fmt::format("{}: {} is made, and not counted", look.at, look.made));
  }
  if (look.is_opened && !(counted.contains(look.at) && after.contains(look.at))) {
    complaints_.push_back(look.at + " is opened, and is not there, or not counted");
  }
  for (const std::string& name : after) {
    if (counted.contains(name) || is_part_in(counted, name)) {
      continue;
    }
    if (!known_.contains(name)) {
      complaints_.push_back(fmt::format("{}: {} is there, and was never counted", look.at, name));
    } else if (look.is_opened) {
      complaints_.push_back(fmt::format("{}: {} is there, and is not counted", look.at, name));
    }
  }
  known_.insert(counted.begin(), counted.end());
}

/// The file of an array is held by its maker and by its readers; everything else only by its maker.
void Agreement::judge_holders(const Look& look) {
  std::map<std::string, std::set<int>> holders;
  for (const tracker::Count& each : look.counts) {
    const std::string& name = each.resource.name;
    holders[name].insert(each.holder);
    const auto opened = look.opened_by.find(name);
    const bool is_reader = name.ends_with(".npy") && opened != look.opened_by.end() &&
                           opened->second.contains(each.holder);
    if (each.holder != look.root && !is_reader) {
      complaints_.push_back(fmt::format(
          "{}: {} holds {}, and it was not seen to open that", look.at, each.holder, name));
    }
    if (look.dead.contains(each.holder)) {
      complaints_.push_back(
          fmt::format("{}: {} is dead, and holds {}", look.at, each.holder, name));
    }
    if (look.is_opened && each.holder != look.root && each.count != 1) {
      complaints_.push_back(
          fmt::format("{}: {} holds {} times {}", look.at, each.holder, each.count, name));
    }
  }
  for (const auto& [name, held_by] : holders) {
    std::set<int> expected = {look.root};
    if (name == look.at && name.ends_with(".npy")) {
      expected.insert(look.opened_by.at(name).begin(), look.opened_by.at(name).end());
    }
    if (look.is_opened && held_by != expected) {
      complaints_.push_back(fmt::format(
          "{}: {} hold {}, and not {}", look.at, held_by.size(), name, expected.size()));
    }
  }
}

void Agreement::judge_end(const std::vector<Leftover>& there) {
  for (const std::string& name : names_in(there, "the tracker's end")) {
    complaints_.push_back("the tracker ends, and leaves " + name);
  }
}

}  // namespace lastref::harness::warden
