#!/usr/bin/env python3
"""Messages, each with a file that provokes it: tests/data/messages.tsv, and what perp prints today.

    tests/messages.py PERP             compare
    tests/messages.py PERP --update    write what is printed now; read the difference before it is committed

A row is: command and options ("FILE" is the file), the end of the file's name, its text with \\n for line ends, exit code, first line printed
that begins with the file or the command, else the first line. Numbers may differ by 1 %. Add a row with the first three cells, and --update fills the others.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from pages import is_same_text

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests/data/messages.tsv"
SECONDS = 60  # of one command


def first_message(printed, name):
    lines = printed.splitlines()
    return next((line for line in lines if line.startswith((name, "perp"))), lines[0] if lines else "")


def provoke(perp, command, ending, text):
    name = f"file{ending}"
    with tempfile.TemporaryDirectory() as folder:
        if text:
            (Path(folder) / name).write_text(text.replace("\\n", "\n") + "\n")
        done = subprocess.run([perp, *command.replace("FILE", name).split()], cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    return str(done.returncode), first_message(done.stderr + done.stdout, name)


def main():
    perp, is_update = Path(sys.argv[1]).resolve(), "--update" in sys.argv
    rows = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
    faults, found = 0, []
    for command, ending, text, *kept in rows:
        code, message = provoke(perp, command, ending, text)
        found.append("\t".join([command, ending, text, code, message]))
        if not is_update and (len(kept) != 2 or kept[0] != code or not is_same_text(kept[1], message)):
            print(f"{command} {text}\n  expected: {' '.join(kept)}\n  found:    {code} {message}")
            faults += 1
    if is_update:
        TABLE.write_text("\n".join([*head, *found]) + "\n")
    print(f"FAILED: {faults} messages" if faults else f"ok: {len(rows)} messages")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
