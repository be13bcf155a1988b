"""python -m perp: the command."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "perp"
    if not program.exists():
        sys.exit("perp: this build of the package has no command beside it; build it with pip, or call perp itself")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
