"""notes: keeps lines of text in a file.

    notes.py FILE TEXT
"""
import json
import os
import sys


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def write(path, notes):
    """Replaces the file at once, so that a reader sees the old notes or the new ones."""
    new = path + '.new'
    try:
        with open(new, 'w', encoding='utf-8') as file:
            json.dump(notes, file)
        os.replace(new, path)
    except BaseException:
        if os.path.exists(new):
            os.remove(new)
        raise


def main():
    path, text = sys.argv[1:]
    write(path, read(path) + [text])


main()
