"""Examples run, and what they claim is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(tmp_path):
    def run(example, *arguments):
        return subprocess.run([sys.executable, EXAMPLES / example, *map(str, arguments)], cwd=tmp_path,
                              env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True)

    return run


def printed(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_river_stream(run):
    assert "rows learned" in printed(run("river_stream.py"))


def test_near_duplicate_photos(run, tmp_path):
    from PIL import Image

    *groups, counted, judged = printed(run("near_duplicate_photos.py")).splitlines()
    assert len(groups) == 12 and counted.startswith("60 pictures, 12 groups")
    whole, mixed = map(int, re.fullmatch(r"(\d+) of 12 photographs .*; (\d+) groups mix .*", judged).groups())
    assert whole >= 9 and mixed == 0
    assert Image.open(tmp_path / "groups.png").size == (5 * 72, 12 * 72)

    (tmp_path / "photos-3" / "broken.jpg").write_bytes(b"not a picture")
    again = run("near_duplicate_photos.py", "photos-3", "--out", "again.png")
    assert printed(again).splitlines() == [*groups, counted]
    assert "left out" in again.stderr and "broken.jpg" in again.stderr

    empty = run("near_duplicate_photos.py", tmp_path / "nothing")
    assert empty.returncode == 2 and "found 0 pictures" in empty.stderr
