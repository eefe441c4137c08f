// lastref: all that a program needs to share arrays and caches between processes, and to call
// functions in workers. For joblib's verbs there is joblib.hpp, and for faults testing.hpp.
#pragma once

#include <lastref/array.hpp>
#include <lastref/cache.hpp>
#include <lastref/codec.hpp>
#include <lastref/error.hpp>
#include <lastref/message.hpp>
#include <lastref/npy.hpp>
#include <lastref/pool.hpp>
#include <lastref/view.hpp>
