// run: any program under the warden. What it left behind, and who made it.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/cli/interruption.hpp"
#include "harness/cli/target.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/plans.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/doctor.hpp"
#include "harness/warden/private_folders.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;
using warden::Watched;

std::string how_it_ended(const os::ChildExit& root) {
  return fmt::format("{} {}", root.killed ? "killed by signal" : "exit", root.code);
}

class Run {
 public:
  Run(const RunVerbOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation), json_(options.json) {}

  void run() {
    if (options_.command.empty()) {
      invocation_.refuse("run: which program? It stands behind --");
      return;
    }
    if (!read_faults() || !read_folders() || !open_file()) {
      return;
    }
    if (const Status made = warden::make_private(folders_); !made) {
      invocation_.refuse("run: --private: " + describe(made.error()));
      return;
    }
    watch_.command = options_.command;
    watch_.wants_calls = options_.list;
    watch_.grace = std::chrono::milliseconds(static_cast<long>(options_.grace * 1000));
    watch_.is_interrupted = Interruption::happened;
    const Interruption interruption;
    const auto watched = warden::watch(watch_);
    if (!watched) {
      invocation_.refuse(
          fmt::format("run: {}; see lastref run --doctor", describe(watched.error())));
      return;
    }
    std::ranges::copy_if(watched->leftovers, std::back_inserter(left_), [this](const auto& each) {
      return std::ranges::none_of(options_.allowed, [&](const std::string& pattern) {
        return matches(pattern, each.path);
      });
    });
    give(*watched);
  }

 private:
  bool read_faults() {
    for (const std::string& text : options_.faults) {
      auto fault = warden::parse_tree_fault(text);
      if (!fault) {
        invocation_.refuse("--fault: " + fault.error().subject);
        return false;
      }
      watch_.faults.push_back(*std::move(fault));
    }
    return true;
  }

  bool read_folders() {
    for (const std::string& text : options_.private_folders) {
      auto folder = warden::parse_private_folder(text);
      if (!folder) {
        invocation_.refuse("--private: " + folder.error().subject);
        return false;
      }
      folders_.push_back(*std::move(folder));
    }
    return true;
  }

  bool open_file() {
    if (!json_.open()) {
      invocation_.refuse("cannot write " + json_.path());
      return false;
    }
    return true;
  }

  bool all_struck(const Watched& watched) const {
    return std::ranges::find(watched.struck, false) == watched.struck.end();
  }

  Exit exit_of(const Watched& watched) const {
    if (watched.interrupted) {
      return Exit::incomplete;
    }
    // Of a program that fails by itself nobody can say what a fault did to it.
    if (options_.faults.empty() && watched.root != os::ChildExit{}) {
      return Exit::unusable;
    }
    if (!left_.empty() || !watched.stayed.empty()) {
      return Exit::violation;
    }
    return all_struck(watched) ? Exit::clean : Exit::incomplete;
  }

  std::string command_again() const {
    std::string text = "lastref run";
    for (const auto& fault : watch_.faults) {
      text += " --fault " + harness::quoted(warden::to_text(fault));
    }
    for (const std::string& folder : options_.private_folders) {
      text += " --private " + harness::quoted(folder);
    }
    text += " --";
    for (const std::string& word : options_.command) {
      text += " " + harness::quoted(word);
    }
    return text;
  }

  std::string verdict_of(const Watched& watched) const {
    if (watched.interrupted) {
      return "interrupted";
    }
    if (exit_of(watched) == Exit::unusable) {
      return fmt::format("the program fails by itself, with {}", how_it_ended(watched.root));
    }
    if (!left_.empty() || !watched.stayed.empty()) {
      return fmt::format("{} left behind, {} stayed", left_.size(), watched.stayed.size());
    }
    return all_struck(watched) ? "clean" : "incomplete: a fault did not strike";
  }

  std::string to_text(const Watched& watched) const {
    std::string text;
    if (options_.list) {
      for (const auto& each : watched.processes) {
        text += fmt::format("process {:<16} {}\n", each.role, each.title);
      }
      for (const auto& each : watched.calls) {
        text += fmt::format("call    {}/{}({})#{}\n", each.role, each.call, each.object, each.k);
      }
    }
    for (std::size_t at = 0; at < watched.struck.size(); ++at) {
      text += fmt::format("{} {}\n",
                          watched.struck[at] ? "STRUCK        " : "DID NOT STRIKE",
                          warden::to_text(watch_.faults[at]));
    }
    for (const auto& each : left_) {
      text += fmt::format("LEFT BEHIND    {} ({}), made by {}\n", each.path, each.kind, each.maker);
    }
    for (const auto& each : watched.stayed) {
      text += fmt::format("STAYED         {} ({}), {} s after the root had ended\n",
                          each.role,
                          each.title,
                          options_.grace);
    }
    text +=
        fmt::format("{} processes, {} calls stopped for a look, {} of them perturbed; root: {}\n",
                    watched.processes.size(),
                    watched.stops,
                    watched.perturbed,
                    how_it_ended(watched.root));
    const Exit exit = exit_of(watched);
    if (exit != Exit::clean) {
      text += "repeat: " + command_again() + "\n";
    }
    return text + fmt::format("{} (exit {})\n", verdict_of(watched), static_cast<int>(exit));
  }

  std::string to_json(const Watched& watched) const {
    Json json;
    json["exit"] = static_cast<int>(exit_of(watched));
    json["verdict"] = verdict_of(watched);
    json["command"] = options_.command;
    json["root"] = how_it_ended(watched.root);
    json["stops"] = watched.stops;
    json["perturbed"] = watched.perturbed;
    json["faults"] = Json::array();
    for (std::size_t at = 0; at < watched.struck.size(); ++at) {
      json["faults"].push_back(
          {{"fault", warden::to_text(watch_.faults[at])}, {"struck", bool(watched.struck[at])}});
    }
    json["processes"] = Json::array();
    for (const auto& each : watched.processes) {
      json["processes"].push_back({{"role", each.role}, {"title", each.title}});
    }
    if (options_.list) {
      json["calls"] = Json::array();
      for (const auto& each : watched.calls) {
        json["calls"].push_back(
            {{"role", each.role}, {"call", each.call}, {"object", each.object}, {"k", each.k}});
      }
    }
    json["left_behind"] = Json::array();
    for (const auto& each : left_) {
      json["left_behind"].push_back(
          {{"path", each.path}, {"kind", each.kind}, {"maker", each.maker}});
    }
    json["stayed"] = Json::array();
    for (const auto& each : watched.stayed) {
      json["stayed"].push_back({{"role", each.role}, {"title", each.title}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  void give(const Watched& watched) {
    invocation_.end(exit_of(watched));
    // Standard output is the program's.
    std::cerr << to_text(watched) << std::flush;
    if (json_.wanted() && !json_.write(to_json(watched))) {
      invocation_.refuse("cannot write " + json_.path());
    }
  }

  const RunVerbOptions& options_;
  Invocation& invocation_;
  Target json_;
  warden::WatchOptions watch_;
  std::vector<warden::PrivateFolder> folders_;
  std::vector<warden::Leftover> left_;
};

void say_what_works(Invocation& invocation) {
  bool can_watch = true;
  for (const warden::Diagnosis& each : warden::diagnose()) {
    std::cout << fmt::format("{:<7} {}\n", each.works ? "works" : "LOST", each.what);
    if (!each.works) {
      std::cout << fmt::format(
          "        without it: {}\n        needs: {}\n", each.lost, each.remedy);
      can_watch = can_watch && each.lost != "lastref run";
    }
  }
  invocation.end(can_watch ? Exit::clean : Exit::unusable);
}

}  // namespace

void run(const RunVerbOptions& options, Invocation& invocation) {
  if (options.doctor) {
    say_what_works(invocation);
    return;
  }
  Run(options, invocation).run();
}

}  // namespace lastref::harness
