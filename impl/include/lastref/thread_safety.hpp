// thread_safety: annotations that say which monitor guards what. clang checks them
// (-Wthread-safety); other compilers ignore them.
//
// Source: clang, "Thread Safety Analysis".
#pragma once

#if defined(__clang__)
#define LASTREF_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define LASTREF_THREAD_SAFETY(attribute)
#endif

/// A class of objects that can be locked.
#define LASTREF_CAPABILITY LASTREF_THREAD_SAFETY(capability("monitor"))
/// A class of objects that hold a lock while they exist.
#define LASTREF_SCOPED_CAPABILITY LASTREF_THREAD_SAFETY(scoped_lockable)
/// A variable that is only accessed while the monitor is held.
#define LASTREF_GUARDED_BY(monitor) LASTREF_THREAD_SAFETY(guarded_by(monitor))
/// A function that is called with the monitor held, and returns with it held.
#define LASTREF_REQUIRES(monitor) LASTREF_THREAD_SAFETY(requires_capability(monitor))
/// A function that is called without the monitor.
#define LASTREF_EXCLUDES(monitor) LASTREF_THREAD_SAFETY(locks_excluded(monitor))
#define LASTREF_ACQUIRES(...) LASTREF_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define LASTREF_RELEASES(...) LASTREF_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// A function that the analysis cannot follow; a comment there says why it is right.
#define LASTREF_NOT_CHECKED LASTREF_THREAD_SAFETY(no_thread_safety_analysis)
