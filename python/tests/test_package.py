"""The package as users get it: a wheel, installed without Rust and with numpy only."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parents[1]

SCRIPT = """
import sys
import hashbrook
X, y = hashbrook.datasets.digits()
model = hashbrook.Model("brook", dim=64, bits=32)
model.learn(X, y)
index = hashbrook.Index(model.hash_function())
index.add(range(len(X)), X, y)
assert index.search(X[:1], 5).ids.shape == (1, 5)
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"sklearn", "pandas", "polars", "pyarrow", "tqdm", "onnx", "torch", "scipy", "river",
                     "faiss", "usearch", "lancedb", "psycopg"}, loaded
for call, needs in [
    (lambda: model.learn(X, y, progress=True), "tqdm"),
    (lambda: __import__("hashbrook.sklearn"), "scikit-learn"),
    (lambda: model.hash_function().to_onnx("f"), "onnx"),
    (lambda: index.to_faiss(), "hashbrook[faiss]"),
    (lambda: index.to_usearch(), "hashbrook[usearch]"),
    (lambda: index.to_lance("f"), "hashbrook[lance]"),
]:
    try:
        call()
    except ImportError as error:
        assert needs in str(error), error
    else:
        raise AssertionError(needs)
print(hashbrook.__file__)
"""


def test_a_wheel_in_another_environment_without_rust(tmp_path):
    maturin = Path(sysconfig.get_path("scripts")) / "maturin"
    if not maturin.exists():
        pytest.skip("left out: maturin is not installed")
    # The features are those of python/test; with other features all dependencies would be recompiled.
    built = ["--profile", "dev", "--features", "as-in-tests", "--compatibility", "linux"]
    subprocess.run(
        [maturin, "build", "--quiet", *built, "--out", tmp_path],
        cwd=HERE, check=True, capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert "-cp310-abi3-" in wheel.name
    inside = zipfile.ZipFile(wheel).namelist()
    assert {"hashbrook/py.typed", "hashbrook/_hashbrook.pyi", "hashbrook/sklearn.py"} <= set(inside)
    assert len([name for name in inside if "LICENSE-" in name]) == 2
    assert not [name for name in inside if "test" in name or ".env" in name or "bench" in name]
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    packages = next(env.glob("lib/python*/site-packages"))
    pip = [sys.executable, "-m", "pip", "--python", env / "bin" / "python", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    # The new environment gets numpy of this environment and no other package.
    numpy = Path(np.__file__).parent
    for part in (numpy, numpy.parent / "numpy.libs"):
        if part.exists():
            (packages / part.name).symlink_to(part)
    path = os.pathsep.join(
        directory for directory in os.environ["PATH"].split(os.pathsep) if not (Path(directory) / "rustc").exists()
    )
    clean = {"PATH": path, "HOME": str(tmp_path)}
    run = subprocess.run([env / "bin" / "python", "-I", "-c", SCRIPT], capture_output=True, text=True, env=clean)
    assert run.returncode == 0, run.stderr
    assert str(packages) in run.stdout


def test_progress_bars(digits, capfd):
    pytest.importorskip("tqdm")
    import hashbrook

    X, y = digits
    model = hashbrook.Model(dim=64, bits=16)
    model.learn(X, y, batch=100, progress=True)
    function = model.hash_function()
    assert (function.encode(X, progress=True) == function.encode(X)).all()
    index = hashbrook.Index(function)
    index.add(range(1797), X, y)
    index.search(X, 3, progress=True)
    index.within(X, 1, progress=True)
    hashbrook.compare(["lsh"], X, y, bits=8, queries_per_class=5, progress=True)
    told = capfd.readouterr().err
    for what in ("learning: 100%", "encoding: 100%", "searching: 100%", "comparing: 100%"):
        assert what in told, told


@pytest.mark.parametrize("readme", ["README.md", "../README.md"])
def test_what_readmes_print_works(readme, tmp_path):
    text = (HERE / readme).read_text()
    blocks = [block.partition("```")[0] for block in text.split("```python\n")[1:]]
    assert blocks, "there is an example"
    for block in blocks:
        run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode == 0, block + run.stderr
