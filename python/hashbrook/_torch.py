"""Hash functions as modules of torch."""

from __future__ import annotations

from typing import Any

from ._function import HashFunction
from ._recipe import codes, constants

try:
    import torch
except ImportError:
    raise ImportError("to_torch needs PyTorch: https://pytorch.org") from None


class _Functions:
    """Array functions that the recipe calls."""

    sqrt, abs, round, exp, exp2 = torch.sqrt, torch.abs, torch.round, torch.exp, torch.exp2
    clip, where, reciprocal = torch.clip, torch.where, torch.reciprocal

    @staticmethod
    def single(value: Any) -> Any:
        return value.to(torch.float32)

    @staticmethod
    def double(value: Any) -> Any:
        return value.to(torch.float64)

    @staticmethod
    def bytes(value: Any) -> Any:
        return value.to(torch.uint8)

    @staticmethod
    def sum(value: Any) -> Any:
        return value.sum(dim=1, keepdim=True)

    @staticmethod
    def max(value: Any) -> Any:
        return value.amax(dim=1, keepdim=True)


class Hash(torch.nn.Module):  # type: ignore[misc]
    """Module from vectors to packed codes, uint8. Its arrays are buffers, which move to other devices with it."""

    def __init__(self, function: HashFunction) -> None:
        super().__init__()
        arrays, self.told = constants(function)
        self.names = list(arrays)
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(array.copy()))

    def forward(self, x: Any) -> Any:
        """Returns the codes of rows of vectors."""
        made = {name: getattr(self, name) for name in self.names}
        return codes(_Functions, x.to(torch.float32), made, self.told)


def module(function: HashFunction) -> torch.nn.Module:
    """Returns a function as a module."""
    return Hash(function).eval()
