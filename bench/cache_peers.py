"""What caches of Python cost: for each line of standard input an answer in a line, or "none".

Lines: make PEER SLOTS                  seconds of making and closing one
       bytes PEER SLOTS                 what a new one takes, in bytes
       put PEER SLOTS SIZE PROCESSES    seconds for a value in each slot of a new one, in order
       get PEER SLOTS SIZE PROCESSES    the same for all values of a full one, in any order
Peers: pfio, diskcache, python: os.pwrite and os.pread at places that it knows

Of several processes each takes every so-manieth slot; they begin together, and all have read
everything once before. pfio is found on PYTHONPATH.
"""

import fcntl
import mmap
import os
import random
import shutil
import struct
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(
    os.path.join(os.path.dirname(os.path.realpath(__file__)), "../property_tests/impl/cache"))
from pfio_format import pfio_cache

try:
    import diskcache
except ImportError:
    diskcache = None

pfio_class = pfio_cache()


class Pfio:
    def __init__(self, folder, slots, size):
        self.cache = pfio_class(slots, dir=folder)
        self.put, self.get, self.close = self.cache.put, self.cache.get, self.cache.close


class DiskCache:
    """Made to keep what it gets, and not to sync, as we do not."""

    def __init__(self, folder, slots, size):
        self.cache = diskcache.Cache(
            folder, eviction_policy="none", cull_limit=0, size_limit=2**40, sqlite_synchronous=0)
        self.put, self.get, self.close = self.cache.add, self.cache.get, self.cache.close


class Python:
    def __init__(self, folder, slots, size):
        self.size = size
        self.fd = os.open(os.path.join(folder, "values"), os.O_CREAT | os.O_RDWR, 0o600)

    def put(self, slot, value):
        return os.pwrite(self.fd, value, slot * self.size) == len(value)

    def get(self, slot):
        return os.pread(self.fd, self.size, slot * self.size)

    def close(self):
        os.close(self.fd)


PEERS = {"pfio": Pfio if pfio_class else None,
         "diskcache": DiskCache if diskcache else None,
         "python": Python}


class Kept:
    """A cache in a folder of its own on shared memory."""

    def __init__(self, peer, slots, size):
        self.size = size
        self.order = random.Random(1).sample(range(slots), slots)
        self.folder = tempfile.mkdtemp(prefix="lastref-bench-", dir="/dev/shm")
        self.lock = os.open(self.folder, os.O_RDONLY)  # Says that somebody is at work there.
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        begin = time.perf_counter()
        self.cache = PEERS[peer](self.folder, slots, size)
        self.seconds = time.perf_counter() - begin

    def put_all(self, first=0, step=1):
        put, value = self.cache.put, b"v" * self.size
        for slot in range(first, len(self.order), step):
            assert put(slot, value)

    def get_all(self, first=0, step=1):
        get, size = self.cache.get, self.size
        for slot in self.order[first::step]:
            assert len(get(slot)) == size

    def bytes_on_disk(self):
        return sum(os.stat(os.path.join(folder, file)).st_blocks * 512
                   for folder, _, files in os.walk(self.folder) for file in files)

    def end(self):
        begin = time.perf_counter()
        self.cache.close()
        self.seconds += time.perf_counter() - begin
        shutil.rmtree(self.folder)
        os.close(self.lock)


def run_child(together, index, processes, warm_up, act):
    span = struct.Struct("dd")
    warm_up(index, processes)
    together[index] = 1
    while not all(together[:processes]):
        pass
    begin = time.perf_counter()
    act(index, processes)
    span.pack_into(together, 64 + span.size * index, begin, time.perf_counter())


def seconds_of(processes, warm_up, act):
    if processes == 1:
        begin = time.perf_counter()
        act()
        return time.perf_counter() - begin
    # The clock is one for all processes.
    with mmap.mmap(-1, mmap.PAGESIZE) as together:
        children = []
        for index in range(processes):
            children.append(os.fork())
            if children[-1] == 0:
                try:
                    run_child(together, index, processes, warm_up, act)
                    os._exit(0)
                finally:
                    together[index] = 1  # The others do not wait for who has failed.
                    os._exit(1)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        spans = struct.unpack_from("dd" * processes, together, 64)
    return max(spans[1::2]) - min(spans[::2])


filled = {}


def filled_cache(*words):
    if words not in filled:
        filled[words] = Kept(*words)
        filled[words].put_all()
        filled[words].get_all()
    return filled[words]


def measure(what, peer, slots, size=1, processes=1):
    if PEERS[peer] is None:
        return None
    if what == "get":
        kept = filled_cache(peer, slots, size)
        return seconds_of(processes, kept.get_all, kept.get_all)
    kept = Kept(peer, slots, size)
    answer = None
    if what == "put":
        answer = seconds_of(processes, lambda *_: None, kept.put_all)
    elif what == "bytes":
        answer = kept.bytes_on_disk()
    kept.end()
    return kept.seconds if what == "make" else answer


def main():
    for line in sys.stdin:
        what, peer, *numbers = line.split()
        answer = measure(what, peer, *map(int, numbers))
        print("none" if answer is None else answer, flush=True)
    for kept in filled.values():
        kept.end()


main()
