"""What joblib's backends cost: for each line of standard input, seconds in a line.

Lines: each|auto BACKEND COUNT   so many tasks, one a message or in automatic batches
       start|warm BACKEND        two tasks: from nothing to nothing; with workers that are there
       killed BACKEND            from the SIGKILL of a busy worker to the exception
"""

import os
import signal
import sys
import tempfile
import threading
import time

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

ready = {}


def nothing():
    pass


def say_and_wait(path):
    with open(path, "w") as pipe:
        pipe.write(str(os.getpid()))
    signal.pause()


def parallel_of(backend, batch_size):
    """One that has worked before, so that its batches have the size that it likes."""
    if (backend, batch_size) not in ready:
        parallel = Parallel(n_jobs=2, backend=backend, batch_size=batch_size)
        ready[backend, batch_size] = parallel.__enter__()
        for _ in range(3):
            parallel(delayed(nothing)() for _ in range(1000))
    return ready[backend, batch_size]


def end_all(backend):
    for key in [key for key in ready if key[0] == backend]:
        ready.pop(key).__exit__(None, None, None)
    if backend == "loky":
        get_reusable_executor().shutdown(wait=True)


def run(parallel, count):
    begin = time.perf_counter()
    parallel(delayed(nothing)() for _ in range(count))
    return time.perf_counter() - begin


def start(backend):
    end_all(backend)
    begin = time.perf_counter()
    Parallel(n_jobs=2, backend=backend)(delayed(nothing)() for _ in range(2))
    end_all(backend)
    return time.perf_counter() - begin


def killed(backend):
    parallel = parallel_of(backend, 1)
    path = tempfile.mktemp()
    os.mkfifo(path)
    begin = []

    def kill():
        with open(path) as pipe:
            pid = int(pipe.read())
        begin.append(time.perf_counter())
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        parallel([delayed(say_and_wait)(path)])
    except TerminatedWorkerError:
        spent = time.perf_counter() - begin[0]
    killer.join()
    os.unlink(path)
    end_all(backend)
    return spent


def measure(what, backend, *count):
    if what == "start":
        return start(backend)
    if what == "killed":
        return killed(backend)
    if what == "warm":
        return run(parallel_of(backend, 1), 2)
    return run(parallel_of(backend, 1 if what == "each" else "auto"), int(count[0]))


if __name__ == "__main__":
    for line in sys.stdin:
        print(measure(*line.split()), flush=True)
    for name, _ in list(ready):
        end_all(name)
