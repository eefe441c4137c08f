// huge_pages: keeps the program's code and constants in pages that fork copies at almost no cost.
#pragma once

namespace lastref::harness {

/// Moves each read-only segment of this program that starts on a huge-page boundary into anonymous
/// huge pages at the same addresses, if the kernel has some available.
///
/// A forked child maps a file's pages one fault at a time, sixteen pages each. A run of four
/// processes spent a hundred faults on that alone. An anonymous huge page is one entry, which fork
/// copies. If nothing is aligned or available, nothing changes: slower, with the same results.
///
/// For a process with one thread, at its start. Source: mremap(2), "Documentation/admin-guide/mm/
/// transhuge.rst" of the kernel.
void hold_program_in_huge_pages() noexcept;

}  // namespace lastref::harness
