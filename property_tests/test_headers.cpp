// Nothing but what is parsed once for all tests: CMake needs a source to precompile headers for.
