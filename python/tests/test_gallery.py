"""The scripts of examples/python do what their texts say, make their pictures, and docs/gallery.md shows them; what needs packages that are
not installed is skipped (make python-extras installs them)."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))
import gallery  # noqa: E402

CLAIMS = {
    "01_sliding_block": lambda n: max(n["differences"].values()) == 0 and 0.1 < n["sticks"].mean() < 0.5,
    "02_particle": lambda n: n["z"].min() == 0 and np.diff(n["energy"], axis=0).max() < 1e-10 and np.all(n["vx"][-1][1:] == 0),
    "03_painleve": lambda n: n["run"].G[1] < 0 and np.ptp(n["impulses"]) < 0.01 * n["impulses"][0],
    "04_push": lambda n: abs(n["plan"].cost - 0.6325) < 1e-3 and n["plan"].holds and abs(n["run"].x[-1]) < 1e-6,
    "05_cube": lambda n: n["run"].lowest[1:].min() > -1e-12 and np.all(n["run"]["p"][:, -1] == n["run"]["p"][:, -2]),
    "06_controller": lambda n: n["errors"]["PD"] > 50 * n["errors"]["PD and friction in advance"],
    "07_identify": lambda n: n["inside"].sum() >= 34 and n["fit"].interval("m")[0] < 1.3 < n["fit"].interval("m")[1],
    "08_lcp_map": lambda n: [abs(s[4] - share) < 0.005 for s, share in zip(n["shares"].values(), (0, 0, 0.5))] == [True] * 3,
    "09_learn_friction": lambda n: n["worst"] < 0.01,
    "10_environment": lambda n: n["scores"][-1] > -45 and n["gains"][0] > 0,
    "11_robot": lambda n: 15 < n["first"] < 30 and np.nanmax(n["slip"][:200]) < 1e-9 and np.nanmax(n["share"]) < 1 + 1e-6,
}


@pytest.mark.parametrize("script", gallery.SCRIPTS, ids=lambda s: s.stem)
def test_a_script_does_what_it_says(script, tmp_path):
    missing = gallery.missing(script)
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    begin = time.perf_counter()
    names = gallery.run(script, tmp_path)
    assert CLAIMS[script.stem](names)
    assert time.perf_counter() - begin < 60
    import matplotlib.image

    pixels = matplotlib.image.imread(tmp_path / gallery.picture(script))
    shown = matplotlib.image.imread(ROOT / "docs" / "figures" / gallery.picture(script))
    assert pixels.shape == shown.shape and len(np.unique(pixels.reshape(-1, 4), axis=0)) > 20
    assert np.mean(np.abs(pixels - shown)) < 0.02  # another version of matplotlib sets its letters elsewhere


def test_the_page_shows_them():
    assert len(gallery.SCRIPTS) == 11 and set(CLAIMS) == {s.stem for s in gallery.SCRIPTS}
    assert all(len(s.read_text().splitlines()) < 60 for s in gallery.SCRIPTS)
    assert (ROOT / "docs" / "gallery.md").read_text() == gallery.text()
