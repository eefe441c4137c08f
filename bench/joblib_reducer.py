"""What joblib's forward reducer costs: medians in seconds, one line of JSON.

Usage: joblib_reducer.py BYTES REPEATS
"""

import json
import os
import statistics
import sys
import tempfile
import time

import numpy
from joblib._memmapping_reducer import ArrayMemmapForwardReducer
from joblib.externals.loky.backend import resource_tracker


def seconds_of(action, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        kept = action()
        times.append(time.perf_counter() - begin)
        del kept
    return statistics.median(times)


def main():
    size, repeats = int(sys.argv[1]), int(sys.argv[2])
    folder = tempfile.mkdtemp(dir="/dev/shm")
    source = numpy.ones(size, dtype="u1")
    reducer = ArrayMemmapForwardReducer(
        max_nbytes=1000, temp_folder_resolver=lambda: folder, mmap_mode="r",
        unlink_on_gc_collect=True, prewarm=False)
    resource_tracker.ensure_running()

    def dump():
        array = source.view()
        begin = time.perf_counter()
        _, (path, *_) = reducer(array)
        spent = time.perf_counter() - begin
        resource_tracker.unregister(path, "file")
        os.unlink(path)
        return spent

    new = statistics.median(dump() for _ in range(repeats))
    load, arguments = reducer(source)
    known = seconds_of(lambda: reducer(source), 100)
    loaded = seconds_of(lambda: load(*arguments), 100)
    resource_tracker.unregister(arguments[0], "file")
    os.unlink(arguments[0])
    os.rmdir(folder)
    print(json.dumps({"new": new, "known": known, "load": loaded}))


main()
