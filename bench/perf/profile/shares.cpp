#include "bench/perf/profile/shares.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "harness/platform/elf_functions.hpp"

namespace lastref::perf {
namespace {

/// When it starts, the C library chooses the copy functions that fit the processor. Only their
/// addresses show which ones it has chosen.
void add_copying(const std::string& file, Symbols& symbols) {
  constexpr std::uint64_t way_size = 2048;  // bytes; size of the longest function
  for (const char* const name : {"memcpy", "memmove", "memset"}) {
    void* const function = ::dlsym(RTLD_DEFAULT, name);
    Dl_info info{};
    if (function != nullptr && ::dladdr(function, &info) != 0 && info.dli_fname != nullptr &&
        file.ends_with(std::string_view(info.dli_fname)
                           .substr(std::string_view(info.dli_fname).rfind('/') + 1))) {
      const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(function) -
                                                     static_cast<const char*>(info.dli_fbase));
      symbols.add(offset, way_size, name);
    }
  }
}

bool is_any(std::string_view name, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, name) != known.end();
}

/// "pwrite64" for __x64_sys_pwrite64, and for the function that replaces it on the stack after a
/// tail call.
std::string call_of(std::string_view name) {
  for (const std::string_view start : {"__x64_sys_", "__ia32_sys_", "__sys_", "ksys_"}) {
    if (name.starts_with(start)) {
      name.remove_prefix(start.size());
      return std::string(name.substr(0, name.find('.')));
    }
  }
  return {};
}

}  // namespace

void Symbols::add(std::uint64_t begin, std::uint64_t size, std::string name) {
  all_.push_back({.begin = begin, .size = size, .name = std::move(name)});
}

void Symbols::sort() {
  std::ranges::stable_sort(all_, {}, &Symbol::begin);
}

std::string_view Symbols::at(std::uint64_t address) const {
  const auto behind = std::ranges::upper_bound(all_, address, {}, &Symbol::begin);
  if (behind == all_.begin()) {
    return {};
  }
  const Symbol& symbol = *std::prev(behind);
  return symbol.size == 0 || address - symbol.begin < symbol.size ? std::string_view(symbol.name)
                                                                  : std::string_view();
}

Symbols kernel_symbols() {
  Symbols symbols;
  std::ifstream file("/proc/kallsyms");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t address = 0;
    char kind = 0;
    std::string name;
    words >> std::hex >> address >> kind >> name;
    if (address != 0 && (kind == 't' || kind == 'T')) {
      symbols.add(address, 0, std::move(name));
    }
  }
  symbols.sort();
  return symbols;
}

Symbols symbols_of_file(const std::string& file) {
  Symbols symbols;
  harness::for_each_function(file, [&](const harness::ElfFunction& function) {
    symbols.add(function.offset, function.size, std::string(function.name));
  });
  add_copying(file, symbols);
  symbols.sort();
  return symbols;
}

/// On processors that also move few bytes quickly (FSRM), the caller of copy_user copies inline.
bool is_copying(std::string_view function) noexcept {
  return function.find("memcpy") != std::string_view::npos ||
         function.find("memmove") != std::string_view::npos ||
         function.find("memset") != std::string_view::npos || function.starts_with("copy_user_") ||
         function.starts_with("rep_movs_") || function.starts_with("rep_stos_") ||
         function.starts_with("clear_page") || function.starts_with("copy_page") ||
         function.starts_with("copy_folio_") ||
         is_any(function, {"_copy_to_iter", "_copy_from_iter", "_copy_to_user", "_copy_from_user"});
}

InKernel in_kernel(const std::vector<std::string_view>& names) {
  InKernel what;
  bool is_fault = false;
  for (const std::string_view name : names) {
    is_fault = is_fault || is_any(name, {"exc_page_fault", "asm_exc_page_fault"});
    if (what.call.empty()) {
      what.call = call_of(name);
    }
  }
  const bool in_call = !what.call.empty() || std::ranges::any_of(names, [](std::string_view name) {
    return is_any(name,
                  {"do_syscall_64",
                   "entry_SYSCALL_64_after_hwframe",
                   "x64_sys_call",
                   "do_fast_syscall_32",
                   "do_int80_emulation",
                   "do_int80_syscall_32"});
  });
  const auto has_name = [](std::string_view name) { return !name.empty(); };
  // Clearing a page at its first touch is part of the fault.
  if (is_fault) {
    what.spent = Spent::page_faults;
  } else if (!names.empty() && is_copying(names.front())) {
    what.spent = Spent::copies;
  } else if (in_call) {
    what.spent = Spent::system_calls;
  } else if (std::ranges::none_of(names, has_name)) {
    what.spent = Spent::in_kernel;
  }
  return what;
}

ProcessShares& Account::of(int process) {
  const auto [at, is_new] = at_.try_emplace(process, all_.size());
  if (is_new) {
    all_.push_back({.name = "", .process = process, .calls = {}, .functions = {}});
  }
  return all_[at->second];
}

void Account::take(const PerfRecord& record) {
  const auto& [process, thread, at, what] = record;
  const auto add = [&, this](int of, const Turn& turn) {
    turns_.push_back({of, thread, at, turn});
  };
  if (const auto* const tick = std::get_if<Tick>(&what)) {
    take_tick(process, *tick);
  } else if (const auto* const turn = std::get_if<Turn>(&what)) {
    add(process, *turn);
  } else if (const auto* const mapped = std::get_if<Mapped>(&what)) {
    mapped_[process].push_back(*mapped);
  } else if (const auto* const named = std::get_if<Named>(&what)) {
    if (named->is_new_program) {
      mapped_[process].clear();
      add(process, {.comes = true, .could_go_on = true});
    }
    if (process == thread) {
      of(process).name = named->name;
    }
  } else if (const auto* const begun = std::get_if<Begun>(&what)) {
    if (process != begun->parent) {
      const std::string name = of(begun->parent).name;
      of(process).name = name;
      mapped_[process] = mapped_[begun->parent];
    }
    add(process, {.comes = false, .could_go_on = true});
  } else if (std::holds_alternative<Ended>(what)) {
    // A later thread with this number is another one.
    add(0, {.comes = false, .could_go_on = true});
  } else {
    lost_ += std::get<Lost>(what).count;
  }
}

void Account::take_tick(int process, const Tick& tick) {
  ProcessShares& shares = of(process);
  ++shares.ticks;
  if (tick.in_kernel) {
    std::vector<std::string_view> names{kernel_.at(tick.address)};
    for (const std::uint64_t each : tick.callers) {
      names.push_back(kernel_.at(each));
    }
    const InKernel what = in_kernel(names);
    ++shares.spent[static_cast<std::size_t>(what.spent)];
    if (!what.call.empty()) {
      ++shares.calls[what.call];
    }
    return;
  }
  std::string_view name;
  for (const Mapped& mapped : mapped_[process]) {
    if (tick.address >= mapped.address && tick.address - mapped.address < mapped.size) {
      const auto [file, is_new] = files_.try_emplace(mapped.file);
      if (is_new) {
        file->second = symbols_of_file(mapped.file);
      }
      name = file->second.at(tick.address - mapped.address + mapped.offset);
    }
  }
  const Spent spent = is_copying(name) ? Spent::copies : Spent::own;
  ++shares.spent[static_cast<std::size_t>(spent)];
  ++shares.functions[name.empty() ? "?" : std::string(name)];
}

/// The turns of one thread come from each processor that it ran on.
void Account::note_time() {
  std::ranges::stable_sort(turns_, {}, &TurnOf::at);
  std::map<int, TurnOf> last;
  for (const TurnOf& now : turns_) {
    if (const auto known = last.find(now.thread); known != last.end()) {
      const auto& [process, thread, at, before] = known->second;
      ProcessShares& shares = of(process);
      const double seconds = static_cast<double>(now.at - at) / 1e9;
      shares.wake_ups += now.turn.comes && !before.comes && !before.could_go_on ? 1U : 0U;
      (before.comes ? shares.runs : before.could_go_on ? shares.ready : shares.waits) += seconds;
    }
    last[now.thread] = now;
    if (now.process == 0) {
      last.erase(now.thread);
    }
  }
  turns_.clear();
}

std::vector<ProcessShares> Account::shares() {
  note_time();
  return all_;
}

}  // namespace lastref::perf
