"""Notebooks run cell by cell, and are stored without outputs."""

import json
from pathlib import Path

import pytest

BOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(BOOKS) == 4


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_a_notebook_runs(book, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(book.read_text())["cells"]):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "clear what it printed before it is kept"
            exec(compile("".join(cell["source"]), f"{book.name}, cell {number}", "exec"), names)
