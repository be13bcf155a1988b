#!/usr/bin/env python3
"""Run the scripts of examples/python and write what the gallery shows: gallery.md, and a picture of each in figures/.

gallery.py docs         with the package perp on the path
"""

import ast
import importlib.util
import runpy
import sys
from pathlib import Path

SCRIPTS = sorted(Path(__file__).resolve().parent.glob("[0-9]*.py"))
HEAD = """# Gallery of the Python package

`make gallery` writes this page from the scripts in `examples/python`, each under 60 lines. The tests
run them.
"""


def picture(script: Path) -> str:
    return f"gallery-{script.stem.replace('_', '-')}.png"


def text() -> str:
    """Title, words and picture of each, from the scripts alone."""
    parts = [HEAD]
    for script in SCRIPTS:
        title, words = (ast.get_docstring(ast.parse(script.read_text())) or "").split("\n\n", 1)
        link = f"[`examples/python/{script.name}`](../examples/python/{script.name})"
        parts.append(f"## {title}\n\n{words}\n\n![{title}](figures/{picture(script)})\n\n{link}\n")
    return "\n".join(parts)


def missing(script: Path) -> list[str]:
    """What it imports that is not installed."""
    imports = [n for n in ast.walk(ast.parse(script.read_text())) if isinstance(n, ast.Import)]
    names = {alias.name.split(".")[0] for n in imports for alias in n.names}
    return [name for name in sorted(names) if importlib.util.find_spec(name) is None]


def run(script: Path, figures: Path) -> dict[str, object]:
    """The script's names after it has run; its picture is in `figures`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    names = runpy.run_path(str(script))
    plt.gcf().tight_layout()
    figures.mkdir(parents=True, exist_ok=True)
    plt.gcf().savefig(figures / picture(script), dpi=80, metadata={"Software": None})
    return names


def main(docs: Path) -> None:
    for script in SCRIPTS:
        run(script, docs / "figures")
    (docs / "gallery.md").write_text(text())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
