"""python -m perp: the command."""

import os
import sys

from ._library import FileError
from .sweeps import program


def main() -> None:
    try:
        path = str(program())
    except FileError as error:
        sys.exit(f"perp: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
