// huge_pages: the program's code and constants in pages that a fork hands on for nothing.
#pragma once

namespace lastref::harness {

/// Moves each read-only segment of this program that starts on a boundary of huge pages into
/// anonymous huge pages at the same addresses, where the kernel has some to give.
///
/// A child of a fork finds a file's pages one fault at a time, sixteen pages each; a run of four
/// processes spent a hundred faults on nothing else. An anonymous huge page is one entry, and fork
/// copies it. Where nothing is aligned or given, all stays as it was: slower, and the same.
///
/// For a process with one thread, at its start. Source: mremap(2), "Documentation/admin-guide/mm/
/// transhuge.rst" of the kernel.
void hold_program_in_huge_pages() noexcept;

}  // namespace lastref::harness
