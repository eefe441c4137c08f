// plugin: a shared object that uses a session as soon as it is loaded.
#include "property_tests/impl/backends/unguarded/unguarded.hpp"

extern "C" {
extern const int code_of_plugin;
const int code_of_plugin = lastref::pretend::use_unguarded("session");
}
