"""loky_peer: joblib's own resource tracker, both ends of it, under orders.

Reads a line from descriptor 3, words apart by tabs, does it, and answers with a line on 4; what it
and its children say goes to 5. What cannot be done is answered with the exception's name.

    lead ours|theirs PROGRAM SAID     a client of a new tracker, whose standard error is a file
    register|unregister|maybe_unlink NAME TYPE
    probe ANYTHING TYPE
    share CHILDREN TIMES WORD NAME TYPE
                                      forks children who use the same client at once
    settle PATH                       returns when the tracker has dealt with all of the above
    end                               lets go of the pipe; the tracker's exit code
    parallel PROGRAM FOLDER SIZE      a real call with arrays, whose tracker is ours
    killed PROGRAM FOLDER SIZE        the same; between two calls all but the tracker are killed
"""
import os
import signal
import subprocess
import sys

import numpy
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker

ORDERS, ANSWERS, STANDARD_ERROR = 3, 4, 5
OWN = (ORDERS, ANSWERS)


class Session:
    def lead(self, whose, program, said):
        read, write = os.pipe()
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if whose == "ours":
            command = [program, "tracker", "--loky-fd", str(read)]
            self.pid = subprocess.Popen(command, pass_fds=[read], stderr=out).pid
        else:
            self.pid = os.fork()
            if self.pid == 0:
                os.dup2(out, 2)
                for fd in (write, out, *OWN):
                    os.close(fd)
                resource_tracker.main(read)
                os._exit(0)
        os.close(read)
        os.close(out)
        self.tracker = resource_tracker.ResourceTracker()
        self.tracker._fd = write
        self.tracker._pid = self.pid

    def register(self, name, rtype):
        self.tracker.register(name, rtype)

    def unregister(self, name, rtype):
        self.tracker.unregister(name, rtype)

    def maybe_unlink(self, name, rtype):
        self.tracker.maybe_unlink(name, rtype)

    def probe(self, name, rtype):
        self.tracker._send("PROBE", name, rtype)

    def share(self, children, times, word, name, rtype):
        started = []
        for _ in range(int(children)):
            pid = os.fork()
            if pid == 0:
                for _ in range(int(times)):
                    getattr(self.tracker, word)(name, rtype)
                os._exit(0)
            started.append(pid)
        return max(os.waitpid(pid, 0)[1] for pid in started)

    def settle(self, path):
        # One pipe has one order: when this is gone, so is what came before it.
        with open(path, "w"):
            pass
        self.tracker.register(path, "file")
        self.tracker.maybe_unlink(path, "file")
        while os.path.exists(path):
            os.sched_yield()

    def end(self):
        # A client whose tracker has died starts one of its own, which would hide the death.
        if self.tracker._pid != self.pid:
            return "another tracker"
        os.close(self.tracker._fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start_ours(program):
    """Lets loky's client start our program in place of its own, and nothing else."""

    def start(_, __, fds):
        command = [program, "tracker", "--loky-fd", str(max(fds))]
        return subprocess.Popen(command, pass_fds=fds).pid

    resource_tracker.spawnv_passfds = start


def measure(array, index):
    return type(array).__name__, float(array.sum()) + index


def array_of(size):
    return numpy.arange(int(size), dtype="<f8")


def parallel(program, folder, size):
    start_ours(program)
    total = float(array_of(size).sum())
    seen = []
    for options in ({}, {"mmap_mode": "c"}):
        options |= {"n_jobs": 2, "max_nbytes": 1000, "temp_folder": folder}
        shared = array_of(size)
        results = Parallel(**options)(delayed(measure)(shared, index) for index in range(20))
        seen += [kind for kind, _ in results]
        assert [value for _, value in results] == [total + index for index in range(20)]
        tasks = (delayed(measure)(array_of(size) + index, 0) for index in range(5))
        results = Parallel(**options)(tasks)
        seen += [kind for kind, _ in results]
        assert [value for _, value in results] == [total + index * int(size) for index in range(5)]
    get_reusable_executor().shutdown(wait=True)
    return f"{os.getpid()} {' '.join(sorted(set(seen)))} {len(seen)}"


def killed(program, folder, size):
    start_ours(program)
    array = array_of(size)
    with Parallel(n_jobs=2, max_nbytes=1000, temp_folder=folder) as run:
        kinds = {kind for kind, _ in run(delayed(measure)(array, index) for index in range(8))}
        workers = list(get_reusable_executor()._processes)
        left = sum(name.endswith(".pkl") for _, _, names in os.walk(folder) for name in names)
        answer(f"{os.getpid()} {' '.join(sorted(kinds))} {left}")
        for pid in (*workers, os.getpid()):
            os.kill(pid, signal.SIGKILL)


def answer(text):
    os.write(ANSWERS, f"{text}\n".encode())


def main():
    # Whoever started us said another name.
    sys.executable = os.path.realpath("/proc/self/exe")
    os.dup2(STANDARD_ERROR, 2)
    os.close(STANDARD_ERROR)
    for fd in OWN:
        os.set_blocking(fd, True)
    session = Session()
    deeds = {"parallel": parallel, "killed": killed}
    with open(ORDERS, encoding="utf-8", newline="\n", closefd=False) as orders:
        for line in orders:
            verb, *words = line.rstrip("\n").split("\t")
            try:
                done = deeds.get(verb, getattr(session, verb, None))(*words)
                answer("done" if done is None else done)
            except Exception as failed:  # pylint: disable=broad-except
                print(f"loky_peer: {verb}: {failed!r}", file=sys.stderr)
                answer(type(failed).__name__)


if __name__ == "__main__":
    main()
