"""Model: a learner that runs a method on a stream."""

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
    """Converts the parameters of a method to JSON for the compiled part."""

    def plain(value: Any) -> Any:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        raise TypeError(f"a parameter is a number, a text, or true or false, not {value!r}")

    return json.dumps(parameters, default=plain)


class Model:
    """A running learner: it learns a stream of labelled vectors with a method, batch after batch.

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
        Dimension of the vectors.
    bits
        Length of the codes, 1 to 1024.
    seed
        Random seed. The same seed and stream give the same bits, on any number of threads.
    center
        Vector that is subtracted from every vector: ``"first"`` for the mean of the stream's first ``warmup`` rows,
        a vector, or ``None``.
    scale
        ``"standard"`` divides each column by its deviation in the first rows; ``None`` leaves columns unscaled.
    unit
        Whether vectors are scaled to unit length after centring and scaling.
    warmup
        Number of the stream's first rows that are buffered before learning begins, to determine the center, the scale
        and other values that the method needs. The default depends on the method (1,000; brook and itq: 3,000; hmoh:
        twice its anchors if that is more).
    init
        Initial projection, dim x bits; random if not given.
    preset
        A data set of :func:`hashbrook.presets`. The parameters of the papers for this data set are used.
    **parameters
        Parameters of the method, as on its page: ``Model("brook", dim=64, lift="none")``.

    A model can be pickled and copied. Several threads may use a model; one thread at a time changes it.
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
        """Loads a model that :meth:`save` or the command wrote. The model can continue to learn."""
        return cls._of(native.Model.load(path(path_)))

    def save(self, path_: Path) -> None:
        """Saves the model to a file atomically, replacing an existing file."""
        self._native.save(path(path_))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Reads a model from the bytes that :meth:`to_bytes` returned."""
        return cls._of(native.Model.from_bytes(data))

    def to_bytes(self) -> bytes:
        """Returns the bytes of the model's file."""
        return self._native.to_bytes()

    def copy(self) -> Model:
        """Returns an independent copy of the model."""
        return Model._of(self._native.copy())

    def learn(self, X: Any, y: Any = None, *, batch: Optional[int] = None, progress: bool = False) -> None:
        """Learns the next rows of the stream: as one batch, or ``batch`` rows at a time.

        ``y`` has one label, several labels or none for each row: integers, strings, lists of either, or a matrix of
        zeros and ones with a column for each label. Labels are compared as strings: 7 and "7" are the same label.
        A C-contiguous float32 array is used without a copy; other data is converted to such an array. If ``X`` is a
        frame (pandas, polars, Arrow), ``y`` may be the name of its column of labels, which is then not a feature:
        ``model.learn(frame, "target")``.

        A batch that fails, or that Ctrl-C stops, leaves the model unchanged. With ``batch``, earlier batches of the
        call stay learned, and :attr:`seen` includes their rows. (With methods other than brook, Ctrl-C waits for the
        end of a batch.) ``progress`` shows a progress bar (tqdm).
        """
        X, given = labelled(X, y)
        with bar(progress, len(X), "learning") as told:
            self._native.learn(X, given, batch, told)

    def unlearn(self, X: Any, y: Any) -> None:
        """Unlearns rows, as if they had never been learned (brook).

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
        """Changes the labels of learned rows, as if the rows had been learned with the new labels (brook)."""
        X, before, after = relabelled(X, old, new)
        if before is None or after is None:
            raise ValueError("relabel needs the old labels and the new ones")
        self._native.relabel(X, before, after)

    def merge(self, other: Model) -> None:
        """Adds what another model has learned; both must have the same warm-up (:meth:`sibling`; brook)."""
        self._native.merge(other._native)

    def sibling(self) -> Model:
        """Returns a model that has learned nothing, but has the center, scale and anchors of this model (brook)."""
        return Model._of(self._native.sibling())

    def end_warmup(self) -> None:
        """Ends the warm-up now, with the rows buffered so far."""
        self._native.end_warmup()

    def hash_function(self) -> HashFunction:
        """Returns the hash function learned so far, frozen. Works before the first batch, too.

        Warns (``UserWarning``) when ``itq``, ``sketchhash`` or ``frosh`` have more bits than directions with variance.
        """
        return HashFunction._of(self._native.hash_function())

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(json.loads(self._native.method)["method"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the method."""
        parameters = dict(json.loads(self._native.method))
        del parameters["method"]
        return parameters

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._native.dim

    @property
    def bits(self) -> int:
        """Length of the codes in bits."""
        return self._native.bits

    @property
    def seed(self) -> int:
        """Random seed."""
        return self._native.seed

    @property
    def seen(self) -> int:
        """Number of rows given to the model, including buffered rows."""
        return self._native.seen

    @property
    def batches(self) -> int:
        """Number of batches given to the model."""
        return self._native.batches

    @property
    def warmup(self) -> int:
        """Maximum number of the stream's first rows that are buffered before learning begins."""
        return self._native.warmup

    @property
    def is_warm(self) -> bool:
        """Whether the warm-up has ended: no rows are buffered."""
        return self._native.is_warm

    @property
    def label_names(self) -> list[str]:
        """Names of the labels, in order of first appearance."""
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
