#!/usr/bin/env python3
"""Runs the commands, models and Python blocks of the pages for readers, and compares what they print.

    tests/pages.py PERP [--python PYTHON] [--update] [PAGE..]

PERP is the command; PYTHON has the package perp on its path (without it Python blocks are counted as not run). PAGEs: README.md,
docs/howto/*.md and docs/tutorials/*.md unless given. Each page has a folder of its own, in which examples/ and bench/ are the repository's.

    ```perp title="NAME"     a file of this name (any language); a model without a title is simulated, or planned if it has a plan
    ```console               "$ COMMAND" is run by bash and must end with 0; the lines below it are what it prints
    ```python                runs after the Python blocks before it on the page
                             not run, and counted so: from the first that imports a module of python/extras.txt that PYTHON lacks
    ```text                  directly below a Python block: what it prints

Expected lines stand for lines that are printed, in this order; others may stand between them. "..." in a line is any text. Numbers may
differ by 1 %, and all below 1e-6 are the same. A picture NAME.svg that a page makes and docs/figures has must be the same. --update copies
the pictures that a page makes and shows, those as PNG too.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
EXTRAS = [line for line in (ROOT / "python/extras.txt").read_text().split("\n") if line.isidentifier()]
NEAR, TINY = 1e-2, 1e-6
SECONDS = 120  # of one command


def is_same_number(expected, found):
    if expected == found:
        return True  # digits of a colour, too
    a, b = float(expected), float(found)
    return abs(a - b) <= NEAR * max(abs(a), abs(b)) or max(abs(a), abs(b)) < TINY


def is_same_text(expected, found):
    """Words between the numbers are equal, numbers nearly."""
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", found).split():
        return False
    return all(map(is_same_number, NUMBER.findall(expected), NUMBER.findall(found)))


def pattern(text):
    """Words of the text with any blanks between them, and a group for each number."""
    words = (re.sub(r"(\\\s)+", r"\\s+", re.escape(w)) for w in NUMBER.split(text))
    return f"({NUMBER.pattern})".join(words)


def is_line(expected, found):
    if "..." not in expected:
        return is_same_text(expected, found)
    pieces = [piece.strip() for piece in expected.split("...")]
    match = re.fullmatch(r".*?".join(map(pattern, pieces)), found.strip())
    return match is not None and all(map(is_same_number, NUMBER.findall(" ".join(pieces)), match.groups()))


def missing(expected, printed):
    """The first expected line that the printed ones lack, in their order; None: all are there."""
    rest = iter(printed.splitlines())
    for line in expected.splitlines():
        if line.strip() not in ("", "...") and not any(is_line(line, found) for found in rest):
            return line
    return None


class Page:
    def __init__(self, path, perp, python, scratch):
        self.path, self.folder, self.python = path, scratch / path.replace("/", "_"), python
        self.folder.mkdir()
        for shared in ("examples", "bench"):
            (self.folder / shared).symlink_to(ROOT / shared)
        path_to_perp = f"{perp.parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path_to_perp, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.faults, self.counts, self.session = [], {"commands": 0, "models": 0, "Python blocks": 0, "not run": 0}, ""

    def run(self, command):
        return subprocess.run(command, cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, timeout=SECONDS)

    def judge(self, what, done, expected):
        lost = missing(expected, done.stdout)
        if done.returncode:
            self.faults.append(f"{what}\n  exit code {done.returncode}\n{done.stdout}")
        elif lost is not None:
            self.faults.append(f"{what}\n  does not print: {lost}\n{done.stdout}")

    def console(self, text):
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            while command.endswith("\\"):
                more, _, expected = expected.partition("\n")
                command = command[:-1] + more.lstrip("> ")
            self.counts["commands"] += 1
            self.judge("$ " + command, self.run(["bash", "-eu", "-o", "pipefail", "-c", command]), expected)

    def model(self, text):
        self.counts["models"] += 1
        (self.folder / "model.perp").write_text(text)
        verb = "plan" if re.search(r"^plan \{", text, re.M) else "simulate"
        self.judge(text.split("\n")[0], self.run(["perp", verb, "model.perp", "--no-plot"]), "")

    def lacks(self, text):
        """Does a block import a module that `make python-extras` installs, and this Python does not have?"""
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = [node.module if isinstance(node, ast.ImportFrom) else alias.name for node in imports for alias in node.names]
        modules = sorted({name.split(".")[0] for name in names} & set(EXTRAS))
        find = f"import sys, importlib.util as of; sys.exit(0 if all(map(of.find_spec, {modules})) else 77)"
        return self.run([self.python, "-c", find]).returncode == 77

    def block(self, text, expected):
        """Blocks before this one run once more, silently: names live on from block to block."""
        if self.python and self.lacks(text):
            self.python = None
        if not self.python:
            self.counts["not run"] += 1
            return
        before = f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({self.session!r})\n"
        self.counts["Python blocks"] += 1
        self.judge(text.split("\n")[0], self.run([self.python, "-c", before + text]), expected)
        self.session += text + "\n"

    def read(self):
        text = (ROOT / self.path).read_text()
        blocks = [(m.group(1).strip(), m.group(2), text[m.end() :]) for m in BLOCK.finditer(text)]
        for info, body, after in blocks:
            title = re.search(r'title="([^"]+)"', info)
            if title:
                (self.folder / title.group(1)).write_text(body)
                if text.count(title.group(1)) < 2:
                    self.faults.append(f"nothing reads {title.group(1)}")
            elif info == "console":
                self.console(body)
            elif info == "perp":
                self.model(body)
            elif info == "python":
                below = re.match(r"\n+```text\n(.*?)^```$", after, re.S | re.M)
                self.block(body, below.group(1) if below else "")
        return self

    def pictures(self, is_update):
        for made in sorted([*self.folder.glob("*.svg"), *self.folder.glob("*.png")]):
            kept = ROOT / "docs/figures" / made.name
            if is_update and f"figures/{made.name}" in (ROOT / self.path).read_text():
                shutil.copyfile(made, kept)
            elif made.suffix == ".svg" and kept.exists() and not is_same_text(kept.read_text(), made.read_text()):
                self.faults.append(f"docs/figures/{made.name} is not what the page makes; tests/pages.py PERP --update {self.path}")


def main():
    arguments, python = sys.argv[1:], None
    if "--python" in arguments:
        at = arguments.index("--python")
        python = arguments[at + 1]
        del arguments[at : at + 2]
    is_update = "--update" in arguments
    perp, *pages = [a for a in arguments if a != "--update"]
    pages = pages or ["README.md", *(str(p.relative_to(ROOT)) for kind in ("howto", "tutorials") for p in sorted((ROOT / "docs" / kind).glob("*.md")))]
    faults, total = 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in pages:
            page = Page(name, Path(perp).resolve(), python, Path(scratch)).read()
            page.pictures(is_update)
            for kind, count in page.counts.items():
                total[kind] = total.get(kind, 0) + count
            for fault in page.faults:
                print(f"{name}: {fault}")
            faults += len(page.faults)
    print(f"FAILED: {faults}" if faults else f"ok: {len(pages)} pages, " + ", ".join(f"{count} {kind}" for kind, count in total.items()))
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
