// joblib: for programs that port code from joblib or loky: its verbs, with functions by name.
//
// Parallel runs tasks in backends, reducers send arrays as maps of files, and temporary resources
// own the files. loky's tracker is here from both sides. New programs use lastref.hpp instead.
#pragma once

#include <lastref/backend.hpp>
#include <lastref/loky.hpp>
#include <lastref/parallel.hpp>
#include <lastref/reducer_registry.hpp>
#include <lastref/reducers.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/task.hpp>
#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/weak_array_key_map.hpp>
#include <lastref/worker.hpp>
