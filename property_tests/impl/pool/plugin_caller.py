# plugin_caller: as plugin_caller.cpp, in Python.
import ctypes
import sys

plugin = ctypes.CDLL(sys.argv[1])
plugin.halves.restype = ctypes.c_double
print("%g" % plugin.halves((ctypes.c_double * 2)(3, 8), ctypes.c_size_t(2)))
