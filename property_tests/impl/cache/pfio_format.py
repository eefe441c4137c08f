"""pfio_format: does with preserved caches what a plan says, one line a deed, words apart by tabs.

    write FILE LENGTH [SLOT HEX]...    a preserved cache, as the format has it
    read FILE LENGTH INTO              what a preserved cache has, a line a slot: hex, or "none"
    preserve FOLDER NAME LENGTH [SLOT HEX]...    the same as write, by pfio itself
    preload FOLDER NAME LENGTH INTO              the same as read, by pfio itself

Exit code 77: there is no pfio to be imported. As a module: what finds pfio's own cache.
"""
import importlib
import os
import struct
import sys
import types

ENTRY = struct.Struct("Qq")


def values_of(words):
    return {int(slot): bytes.fromhex(text) for slot, text in zip(words[::2], words[1::2])}


def write(path, length, *words):
    values = values_of(words)
    entries, data = [(0, -1)] * int(length), b""
    # In the order in which they were put, as pfio has them.
    for slot, value in values.items():
        entries[slot] = (ENTRY.size * int(length) + len(data), len(value))
        data += value
    with open(path, "wb") as file:
        file.write(b"".join(ENTRY.pack(*entry) for entry in entries) + data)


def save(values, into):
    with open(into, "w") as file:
        for value in values:
            file.write(("none" if value is None else value.hex()) + "\n")


def read(path, length, into):
    with open(path, "rb") as file:
        everything = file.read()
    values, end = [], ENTRY.size * int(length)
    for slot in range(int(length)):
        offset, size = ENTRY.unpack_from(everything, ENTRY.size * slot)
        if size < 0:
            assert (offset, size) == (0, -1), (offset, size)
            values.append(None)
            continue
        assert offset == end, "values follow each other, and leave nothing out"
        end = offset + size
        values.append(everything[offset:end])
    assert end == len(everything), "nothing stands behind the last value"
    save(values, into)


def pfio_cache():
    """Its class, without what the rest of the package asks for; None if there is no pfio."""
    for folder in sys.path:
        if os.path.isdir(os.path.join(folder, "pfio", "cache")):
            package = types.ModuleType("pfio")
            package.__path__ = [os.path.join(folder, "pfio")]
            sys.modules["pfio"] = package
            nothing = types.ModuleType("deprecation")
            nothing.deprecated = lambda *_, **__: lambda function: function
            sys.modules.setdefault("deprecation", nothing)
            return importlib.import_module("pfio.cache").MultiprocessFileCache
    return None


def pfio_or_exit():
    return pfio_cache() or sys.exit(77)


def preserve(folder, name, length, *words):
    with pfio_or_exit()(int(length), dir=folder) as cache:
        for slot, value in values_of(words).items():
            assert cache.put(slot, value)
        assert cache.preserve(name)


def preload(folder, name, length, into):
    with pfio_or_exit()(int(length), dir=folder) as cache:
        assert cache.preload(name)
        save([cache.get(slot) for slot in range(int(length))], into)


def main():
    deeds = {"write": write, "read": read, "preserve": preserve, "preload": preload}
    with open(sys.argv[1]) as plan:
        for line in plan:
            deed, *words = line.rstrip("\n").split("\t")
            deeds[deed](*words)


if __name__ == "__main__":
    main()
