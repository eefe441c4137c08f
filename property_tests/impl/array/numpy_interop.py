"""numpy_interop: does with numpy what a plan says, one line a deed, words apart by tabs.

    make    PATH DESCR SHAPE ORDER VERSION   an array of pattern bytes, in a file of that version
    resave  FROM TO                          what numpy reads as a map, saved again
    view    FROM TO EXPRESSION               the same of an expression of that map, called a
"""
import sys
import warnings

import numpy
from numpy.lib import format as npy


def pattern(size):
    return bytearray((at * 37 + at // 256 + 11) % 256 for at in range(size))


def make(path, descr, shape, order, version):
    dtype = npy.descr_to_dtype(eval(descr))
    lengths = eval(shape)
    size = dtype.itemsize * int(numpy.prod(lengths, dtype=int))
    array = numpy.ndarray(lengths, dtype, buffer=pattern(size), order=order)
    with open(path, "wb") as file:
        number = None if version == "0" else (int(version), 0)
        npy.write_array(file, array, version=number, allow_pickle=False)


def load(path):
    # numpy maps nothing where elements have no bytes.
    with open(path, "rb") as file:
        npy.read_magic(file)
    try:
        return numpy.load(path, mmap_mode="r", allow_pickle=False, max_header_size=2**20)
    except ValueError:
        array = numpy.load(path, allow_pickle=False, max_header_size=2**20)
        if array.nbytes > 0:
            raise
        return array


def resave(source, target):
    numpy.save(target, load(source), allow_pickle=False)


def view(source, target, expression):
    a = load(source)
    numpy.save(target, eval(expression, {"a": a, "numpy": numpy}), allow_pickle=False)


def main():
    warnings.simplefilter("ignore")
    deeds = {"make": make, "resave": resave, "view": view}
    with open(sys.argv[1], encoding="utf-8") as plan:
        for line in plan:
            verb, *words = line.rstrip("\n").split("\t")
            deeds[verb](*words)


main()
