"""HashFunction: the frozen function that a model has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _hashbrook as native
from ._convert import Path, features, path
from ._progress import bar

if TYPE_CHECKING:
    import torch


class HashFunction:
    """A frozen hash function from vectors to codes.

    The function includes all steps that learning applied to vectors: centring, scaling and lifting.
    :meth:`Model.hash_function` creates a function; :meth:`load` reads a function from a file.

    >>> import hashbrook
    >>> X, y = hashbrook.datasets.digits()
    >>> model = hashbrook.Model("brook", dim=64, bits=32)
    >>> model.learn(X, y)
    >>> h = model.hash_function()
    >>> h
    HashFunction(dim=64, bits=32, label_bits=27)
    >>> h.encode(X[:3]).shape
    (3, 4)
    """

    __slots__ = ("_native",)
    _native: native.HashFunction

    def __init__(self) -> None:
        raise TypeError("a HashFunction comes from Model.hash_function() or HashFunction.load(path)")

    @classmethod
    def _of(cls, function: native.HashFunction) -> HashFunction:
        made = cls.__new__(cls)
        made._native = function
        return made

    @classmethod
    def load(cls, path_: Path) -> HashFunction:
        """Loads a function from a file that :meth:`save` or ``hashbrook export`` wrote."""
        return cls._of(native.HashFunction.load(path(path_)))

    def save(self, path_: Path) -> None:
        """Saves the function to a file atomically, replacing an existing file."""
        self._native.save(path(path_))

    @classmethod
    def from_bytes(cls, data: bytes) -> HashFunction:
        """Reads a function from the bytes that :meth:`to_bytes` returned."""
        return cls._of(native.HashFunction.from_bytes(data))

    def to_bytes(self) -> bytes:
        """Returns the bytes of the function's file."""
        return self._native.to_bytes()

    @property
    def dim(self) -> int:
        """Dimension of the vectors that the function takes."""
        return self._native.dim

    @property
    def bits(self) -> int:
        """Length of the codes in bits."""
        return self._native.bits

    @property
    def label_bits(self) -> int:
        """Number of label bits: the first bits, which distinguish labels.

        All other bits are detail bits, which preserve the neighbourhood of the vectors themselves.
        """
        return self._native.label_bits

    @property
    def label_names(self) -> list[str]:
        """Names of the labels that the function was learned from, in order of first appearance."""
        return self._native.label_names

    def encode(self, X: Any, *, progress: bool = False) -> npt.NDArray[np.uint8]:
        """Returns the codes of vectors: uint8, rows x ceil(bits / 8), least significant bit first.

        The layout is that of ``numpy.packbits(bits, axis=1, bitorder="little")``;
        ``numpy.unpackbits(codes, axis=1, bitorder="little", count=h.bits)`` returns the bits. A C-contiguous float32
        array is used without a copy; other data is converted to such an array. ``progress`` shows a progress bar
        (tqdm).
        """
        X = features(X)
        with bar(progress, len(X), "encoding") as told:
            return self._native.encode(X, told)

    def project(self, X: Any) -> npt.NDArray[np.float32]:
        """Returns the projections of vectors: float32, rows x bits. A bit is set where its projection is above 0."""
        return self._native.project(features(X))

    def prepared(self, X: Any) -> npt.NDArray[np.float32]:
        """Returns vectors after centring and scaling and before the lift."""
        return self._native.prepared(features(X))

    def parts(self) -> dict[str, Any]:
        """Returns the parts of the function: arrays and numbers, with the library's names."""
        return self._native.parts()

    def to_onnx(self, path_: Path) -> None:
        """Writes the function as an ONNX model, from vectors to packed codes (``pip install onnx``).

        Input ``x`` is float32, rows x dim; output ``codes`` is uint8, as returned by :meth:`encode`. The order of
        sums differs from hashbrook's, so a bit may differ where its projection is within rounding of 0.
        """
        from ._onnx import export

        export(self, path(path_))

    def to_torch(self) -> torch.nn.Module:
        """Returns the function as a ``torch.nn.Module``, from vectors to packed codes.

        As with :meth:`to_onnx`, a bit may differ where its projection is within rounding of 0.
        """
        from ._torch import module

        return module(self)

    def __repr__(self) -> str:
        details = f", label_bits={self.label_bits}" if self.label_bits < self.bits else ""
        return f"HashFunction(dim={self.dim}, bits={self.bits}{details})"

    def __reduce__(self) -> tuple[Any, ...]:
        return HashFunction.from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        """Returns whether both are the same function with the same label names."""
        return isinstance(other, HashFunction) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())
