"""The stubs match the module, and the whole package is typed."""

import os
import subprocess
import sys
from pathlib import Path

import hashbrook

HERE = Path(hashbrook.__file__).parent


def test_stubs_fit_the_module():
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "hashbrook._hashbrook", "--ignore-disjoint-bases"],
        capture_output=True,
        text=True,
        cwd=HERE.parent,
        env={**os.environ, "MYPYPATH": str(HERE.parent)},
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_package_is_typed():
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", str(HERE)],
        capture_output=True,
        text=True,
        cwd=HERE.parent,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert (HERE / "py.typed").exists()


def test_every_public_thing_has_a_text():
    for name in hashbrook.__all__:
        thing = getattr(hashbrook, name)
        if isinstance(thing, type):
            for attribute, value in vars(thing).items():
                if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{attribute}"
        if callable(thing):
            assert thing.__doc__, name
