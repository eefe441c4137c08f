"""What pools of Python cost: for each line of standard input, seconds in a line.

Lines: tiny_cold|tiny_warm PEER COUNT   tasks that add 1: with the start and the end of the pool, or
                                        with workers that run
       first|second PEER BYTES          two tasks that sum an array: a new one, or one sent before
       result PEER BYTES                a task that returns an array; the caller sums it
       in_place PEER BYTES              a new shared array, of which eight tasks fill a row each
       memory PEER 0                    gigabytes of a worker (PSS), instead of seconds
Peers: loky (joblib), executor (concurrent.futures.ProcessPoolExecutor, which forks).

With "two PEER" as arguments it is a program of two tasks.
"""

import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

ROWS = 8


def successor(value):
    return value + 1


def total(array):
    return float(array.sum())


def filled(count):
    return numpy.ones(count)


def fill_row(array, row):
    array[row] = row + 1


def fill_shared_row(name, size, row):
    memory = SharedMemory(name)
    array = numpy.ndarray((ROWS, size // ROWS), numpy.float64, memory.buf)
    fill_row(array, row)
    del array
    memory.close()


def pss(_):
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) * 1024e-9 for line in lines if line.startswith("Pss:"))


class Loky:
    def __init__(self):
        import joblib

        self.delayed = joblib.delayed
        self.parallel = joblib.Parallel(n_jobs=2, max_nbytes=1_000_000).__enter__()

    def map(self, function, *arguments):
        return self.parallel(self.delayed(function)(*each) for each in zip(*arguments))

    def in_place(self, size):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            array = numpy.memmap(folder + "/array", numpy.float64, "w+", shape=(ROWS, size // ROWS))
            self.map(fill_row, [array] * ROWS, range(ROWS))

    def end(self):
        from joblib.externals.loky import get_reusable_executor

        self.parallel.__exit__(None, None, None)
        get_reusable_executor().shutdown(wait=True)


class Executor:
    def __init__(self):
        self.pool = ProcessPoolExecutor(2)

    def map(self, function, *arguments):
        return list(self.pool.map(function, *arguments))

    def in_place(self, size):
        memory = SharedMemory(create=True, size=size * 8)
        self.map(fill_shared_row, [memory.name] * ROWS, [size] * ROWS, range(ROWS))
        memory.close()
        memory.unlink()

    def end(self):
        self.pool.shutdown()


KINDS = {"loky": Loky, "executor": Executor}
running = {}
sent = {}  # By size: an array, and the peers that had it once.


def warm(peer):
    if peer not in running:
        running[peer] = KINDS[peer]()
        for _ in range(3):
            running[peer].map(successor, range(1000))
    return running[peer]


def end_all():
    while running:
        running.popitem()[1].end()


def seconds(act, *arguments):
    begin = time.perf_counter()
    act(*arguments)
    return time.perf_counter() - begin


def cold(peer, count):
    pool = KINDS[peer]()
    pool.map(successor, range(count))
    pool.end()


def measure(what, peer, count):
    if what == "tiny_cold":
        end_all()
        return seconds(cold, peer, count)
    pool = warm(peer)
    if what == "tiny_warm":
        return seconds(pool.map, successor, range(count))
    if what == "memory":
        return pool.map(pss, range(1))[0]
    if what == "in_place":
        return seconds(pool.in_place, count // 8)
    if what == "result":
        return seconds(lambda: total(pool.map(filled, [count // 8])[0]))
    if what == "first":
        array = filled(count // 8)
        return seconds(pool.map, total, [array] * 2)
    if count not in sent:
        sent.clear()
        sent[count] = (filled(count // 8), set())
    array, peers = sent[count]
    if peer not in peers:
        pool.map(total, [array] * 2)
        peers.add(peer)
    return seconds(pool.map, total, [array] * 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["two"]:
        cold(sys.argv[2], 2)
        sys.exit()
    import numpy

    resource_tracker.ensure_running()  # Else each worker has one, which warns of what others remove.
    for line in sys.stdin:
        what, peer, count = line.split()
        print(measure(what, peer, int(count)), flush=True)
    end_all()
