// testing: for tests that make calls of the operating system fail.
//
// Everything below a Pool takes the Os that it runs on as an argument: derive a class from
// KernelOs, override the calls that are to fail, and pass it.
#pragma once

#include <lastref/kernel_os.hpp>
#include <lastref/os.hpp>
#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/process_objects.hpp>
#include <lastref/references.hpp>
#include <lastref/resource.hpp>
