"""Model: a method at work on a stream."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np

from . import _hashbrook as native
from ._convert import Path, features, path, to_array
from ._frame import labelled, relabelled
from ._function import HashFunction
from ._progress import bar


def to_json(parameters: dict[str, Any]) -> str:
    """Parameters of a method as the compiled part takes them."""

    def plain(value: Any) -> Any:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        raise TypeError(f"a parameter is a number, a text, or true or false, not {value!r}")

    return json.dumps(parameters, default=plain)


class Model:
    """A method at work: it learns a stream of labelled vectors, batch after batch.

    >>> import hashbrook
    >>> X, y = hashbrook.datasets.digits()
    >>> model = hashbrook.Model("brook", dim=64, bits=32)
    >>> for start in range(0, 1500, 250):
    ...     model.learn(X[start:start + 250], y[start:start + 250])
    >>> model
    Model('brook', dim=64, bits=32, seed=1, seen=1500, warm=False)
    >>> h = model.hash_function()
    >>> found = hashbrook.evaluate(h, X[1500:], y[1500:], X[:1500], y[:1500])
    >>> found["mAP"] > 0.9
    True

    Parameters
    ----------
    method
        A method of :func:`hashbrook.methods`.
    dim
        The dimension of the vectors.
    bits
        The length of the codes, 1 to 1024.
    seed
        The random start. The same seed and stream give the same bits, on any number of threads.
    center
        What is subtracted from every vector: ``"first"``, the mean of the stream's first ``warmup`` rows;
        a vector; or ``None``.
    scale
        ``"standard"`` divides each column by its deviation in the first rows, ``None`` does not.
    unit
        Whether vectors are scaled to unit length after that.
    warmup
        How many of the stream's first rows are held back until what comes from them is fixed; by default as
        many as the method asks for (1,000; brook and itq: 3,000; hmoh: twice its
        anchors if that is more).
    init
        The projection to start from, dim x bits; random if not given.
    preset
        A data set of :func:`hashbrook.presets`, whose parameters in the papers are taken.
    **parameters
        The method's own, as on its page: ``Model("brook", dim=64, lift="none")``.

    A model can be pickled and copied, and is safe to use in several threads: one changes it at a time.
    """

    __slots__ = ("_native",)
    _native: native.Model

    def __init__(
        self,
        method: str = "brook",
        *,
        dim: int,
        bits: int = 64,
        seed: int = 1,
        center: Any = "first",
        scale: Optional[str] = None,
        unit: bool = True,
        warmup: Optional[int] = None,
        init: Any = None,
        preset: Optional[str] = None,
        **parameters: Any,
    ) -> None:
        if center is not None and not isinstance(center, str):
            center = np.ascontiguousarray(to_array(center, "center"), dtype=np.float32)
            if center.ndim != 1:
                raise ValueError(f"center must be a vector, not an array of {center.ndim} dimensions")
        if init is not None:
            init = features(init, "init")
        self._native = native.Model(
            method, preset, to_json(parameters), dim, bits, seed, center, scale, bool(unit), warmup, init
        )

    @classmethod
    def _of(cls, model: native.Model) -> Model:
        made = cls.__new__(cls)
        made._native = model
        return made

    @classmethod
    def load(cls, path_: Path) -> Model:
        """Loads a model that :meth:`save` or the command wrote, to go on from there."""
        return cls._of(native.Model.load(path(path_)))

    def save(self, path_: Path) -> None:
        """Saves the model, whole or not at all, replacing what stood there."""
        self._native.save(path(path_))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Reads a model from what :meth:`to_bytes` gave."""
        return cls._of(native.Model.from_bytes(data))

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        return self._native.to_bytes()

    def copy(self) -> Model:
        """Another model that has learned the same."""
        return Model._of(self._native.copy())

    def learn(self, X: Any, y: Any = None, *, batch: Optional[int] = None, progress: bool = False) -> None:
        """Learns the next rows of the stream: as one batch, or ``batch`` rows at a time.

        ``y`` has a label for each row, or several, or none: whole numbers, texts, lists of either, or a
        matrix of zeros and ones with a column for each label. Labels go by their texts: 7 and "7" are one.
        A C-contiguous float32 array is read where it is; anything else is converted to one. If ``X`` is a frame
        (pandas, polars, Arrow), ``y`` may be the name of its column of labels, which is no feature:
        ``model.learn(frame, "target")``.

        A batch that fails leaves the model as it was, and so does one that Ctrl-C stops; with ``batch``, those
        before it stay learned, and :attr:`seen` says how many rows that is. (Ctrl-C waits for the end of a
        batch with methods other than brook.) ``progress`` shows a
        bar (tqdm).
        """
        X, given = labelled(X, y)
        with bar(progress, len(X), "learning") as told:
            self._native.learn(X, given, batch, told)

    def unlearn(self, X: Any, y: Any) -> None:
        """Takes rows out as if they had never come (brook).

        >>> import hashbrook
        >>> X, y = hashbrook.datasets.digits()
        >>> model = hashbrook.Model("brook", dim=64, bits=32, warmup=1000)
        >>> model.learn(X[:1000], y[:1000])
        >>> before = model.hash_function()
        >>> model.learn(X[1000:], y[1000:])
        >>> model.unlearn(X[1000:], y[1000:])
        >>> model.hash_function() == before
        True
        """
        self._native.unlearn(*labelled(X, y))

    def relabel(self, X: Any, old: Any, new: Any) -> None:
        """Takes rows that were learned as if they had had other labels (brook)."""
        X, before, after = relabelled(X, old, new)
        if before is None or after is None:
            raise ValueError("relabel needs the old labels and the new ones")
        self._native.relabel(X, before, after)

    def merge(self, other: Model) -> None:
        """Adds all that another model has learned, which must have begun as a :meth:`sibling` (brook)."""
        self._native.merge(other._native)

    def sibling(self) -> Model:
        """A model that has learned nothing, with all that this one's warm-up fixed (brook)."""
        return Model._of(self._native.sibling())

    def end_warmup(self) -> None:
        """Ends the warm-up now, with the rows there are."""
        self._native.end_warmup()

    def hash_function(self) -> HashFunction:
        """Freezes the hash function learned so far; usable before the first batch.

        Warns (``UserWarning``) when ``itq``, ``sketchhash`` or ``frosh`` have more bits than directions with variance.
        """
        return HashFunction._of(self._native.hash_function())

    @property
    def method(self) -> str:
        """The method's name."""
        return str(json.loads(self._native.method)["method"])

    @property
    def parameters(self) -> dict[str, Any]:
        """The method's parameters."""
        parameters = dict(json.loads(self._native.method))
        del parameters["method"]
        return parameters

    @property
    def dim(self) -> int:
        """The dimension of the vectors that it learns from."""
        return self._native.dim

    @property
    def bits(self) -> int:
        """The length of its codes."""
        return self._native.bits

    @property
    def seed(self) -> int:
        """The random start."""
        return self._native.seed

    @property
    def seen(self) -> int:
        """How many rows it has been given, those held back included."""
        return self._native.seen

    @property
    def batches(self) -> int:
        """In how many batches they came."""
        return self._native.batches

    @property
    def warmup(self) -> int:
        """How many of the stream's first rows it holds back at most before it learns."""
        return self._native.warmup

    @property
    def is_warm(self) -> bool:
        """Whether it has begun to learn: nothing is held back."""
        return self._native.is_warm

    @property
    def label_names(self) -> list[str]:
        """What the labels are called, in the order in which they came up."""
        return self._native.label_names

    def __repr__(self) -> str:
        return (
            f"Model({self.method!r}, dim={self.dim}, bits={self.bits}, seed={self.seed}, "
            f"seen={self.seen}, warm={self.is_warm})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Model.from_bytes, (self.to_bytes(),)

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.copy()
