import os
import subprocess
from pathlib import Path

import pytest

import hashbrook

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def binary():
    built = [ROOT / "target" / profile / "hashbrook" for profile in ("debug", "release")]
    given = os.environ.get("HASHBROOK_COMMAND")
    built = [Path(given)] if given else sorted((path for path in built if path.exists()),
                                              key=lambda path: -path.stat().st_mtime)
    if not built:
        pytest.skip("left out: the command is not built (cargo build -p hashbrook-cli)")
    return built[0]


@pytest.fixture(scope="session")
def command(binary):
    def run(*arguments):
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def digits():
    return hashbrook.datasets.digits()


@pytest.fixture(scope="session")
def model(digits):
    X, y = digits
    model = hashbrook.Model("brook", dim=64, bits=64, warmup=500, anchors=200)
    model.learn(X, y)
    return model


@pytest.fixture(scope="session")
def function(model):
    return model.hash_function()
