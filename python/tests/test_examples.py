"""Examples run, and their claims hold."""

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
    assert (whole, mixed) == (12, 0)
    assert Image.open(tmp_path / "groups.png").size == (5 * 72, 12 * 72)

    (tmp_path / "photos-3" / "broken.jpg").write_bytes(b"not a picture")
    again = run("near_duplicate_photos.py", "photos-3", "--out", "again.png")
    assert printed(again).splitlines() == [*groups, counted]
    assert "left out" in again.stderr and "broken.jpg" in again.stderr

    empty = run("near_duplicate_photos.py", tmp_path / "nothing")
    assert empty.returncode == 2 and "found 0 pictures" in empty.stderr


def test_new_classes(run, tmp_path):
    lines = printed(run("new_classes.py", "--first", "300", "--batch", "400", "--bits", "32")).splitlines()[3:]
    table = [[float(cell.rstrip("%")) for cell in line.split()] for line in lines]
    assert [line[0] for line in table] == [300, 700, 1100, 1497]
    first, last = table[0], table[-1]
    assert first[1] > 95 and first[2] == 0, "only 0 to 4 are there"
    assert last[1] > 95 and last[2] > 90, "new classes are found, and the old ones still are"
    assert last[4] < last[2] - 20, "and they are not without learning on"
    assert "</svg>" in (tmp_path / "new-classes.svg").read_text()

    wrong = run("new_classes.py", "--first", "5000")
    assert wrong.returncode == 2 and "--first takes 100 to" in wrong.stderr


def test_texts(run, tmp_path):
    asked, *hits, counted, by_codes, by_cosine = printed(run("texts.py", "-k", "4", "--bits", "32")).splitlines()
    assert asked == "grow a forest of decision trees:" and len(hits) == 4
    assert "  [sklearn.ensemble]" in hits[0], hits
    assert int(counted.split()[0]) > 1000
    codes, cosine = (float(re.match(r"  mAP (\S+) by", line).group(1)) for line in (by_codes, by_cosine))
    assert codes > 0.85 and codes > cosine + 0.2

    wrong = run("texts.py", "xyzzy")
    assert wrong.returncode == 2 and "no text has a word of 'xyzzy'" in wrong.stderr


def test_every_example_is_tested():
    tests = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'run("{path.name}"' not in tests] == []
