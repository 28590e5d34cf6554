"""HashFunction: what a model has learned so far, frozen."""

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
    """A frozen hash function: from vectors to codes.

    All that learning did to a vector before it looked at it (centring, scaling, lifting) is in here.
    :meth:`Model.hash_function` makes one; :meth:`load` reads one from a file.

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
        """Saves the function, whole or not at all, replacing what stood there."""
        self._native.save(path(path_))

    @classmethod
    def from_bytes(cls, data: bytes) -> HashFunction:
        """Reads a function from what :meth:`to_bytes` gave."""
        return cls._of(native.HashFunction.from_bytes(data))

    def to_bytes(self) -> bytes:
        """The bytes of the function's file."""
        return self._native.to_bytes()

    @property
    def dim(self) -> int:
        """The dimension of the vectors that it takes."""
        return self._native.dim

    @property
    def bits(self) -> int:
        """The length of the codes that it makes."""
        return self._native.bits

    @property
    def label_bits(self) -> int:
        """How many of the bits tell labels: the first ones. The others keep what vectors look like."""
        return self._native.label_bits

    @property
    def label_names(self) -> list[str]:
        """What the labels that it was learned from are called, in the order in which they came up."""
        return self._native.label_names

    def encode(self, X: Any, *, progress: bool = False) -> npt.NDArray[np.uint8]:
        """The codes of vectors: uint8, rows x ceil(bits / 8), least significant bit first.

        That is the layout of ``numpy.packbits(bits, axis=1, bitorder="little")``, so that the bits come back
        by ``numpy.unpackbits(codes, axis=1, bitorder="little", count=h.bits)``. A C-contiguous float32 array
        is read where it is; anything else is converted to one. ``progress`` shows a bar (tqdm).
        """
        X = features(X)
        with bar(progress, len(X), "encoding") as told:
            return self._native.encode(X, told)

    def project(self, X: Any) -> npt.NDArray[np.float32]:
        """What the signs are taken of: float32, rows x bits. A bit is set where it is above 0."""
        return self._native.project(features(X))

    def prepared(self, X: Any) -> npt.NDArray[np.float32]:
        """Vectors after centring and scaling and before the lift: as they are told apart."""
        return self._native.prepared(features(X))

    def parts(self) -> dict[str, Any]:
        """What the function is made of: arrays and numbers, by the names that the library gives them."""
        return self._native.parts()

    def to_onnx(self, path_: Path) -> None:
        """Writes the function as an ONNX model, from vectors to packed codes (``pip install onnx``).

        Input ``x`` is float32, rows x dim, output ``codes`` uint8 as :meth:`encode` gives it. Sums are added
        up in another order than here, so that a bit may differ where its projection is within rounding of 0.
        """
        from ._onnx import export

        export(self, path(path_))

    def to_torch(self) -> torch.nn.Module:
        """The function as a ``torch.nn.Module``, from vectors to packed codes.

        As of :meth:`to_onnx`, a bit may differ where its projection is within rounding of 0.
        """
        from ._torch import module

        return module(self)

    def __repr__(self) -> str:
        details = f", label_bits={self.label_bits}" if self.label_bits < self.bits else ""
        return f"HashFunction(dim={self.dim}, bits={self.bits}{details})"

    def __reduce__(self) -> tuple[Any, ...]:
        return HashFunction.from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same function, with the same names of labels."""
        return isinstance(other, HashFunction) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())
