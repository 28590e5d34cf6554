"""Computation of a hash function with any array library, written once for ONNX, torch and numpy.

The steps and their precision are those of the compiled part, so that only the order of sums differs.
"""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np
import numpy.typing as npt

from ._function import HashFunction

#: Terms ln(2)^n / n!, by which the library approximates 2^f.
EXP2_TERMS = (1.3333558e-3, 9.618129e-3, 5.550411e-2, 2.402265e-1, 0.6931472, 1.0)
#: Steps of a similarity of 1, the largest integer of a similarity and of a weight, and that of a coordinate.
UNIT, LARGEST, LARGEST_BYTE = 2048.0, 2047.0, 127.0
#: Integers up to this number are exact in float32.
EXACT = 2.0**24
FINITE = float(np.finfo(np.float32).max)

Constants = dict[str, npt.NDArray[Any]]


def constants(function: HashFunction) -> tuple[Constants, dict[str, Any]]:
    """Returns the arrays of a function in the layout of the computation, and its other parameters."""
    parts = function.parts()
    lift = parts["lift"]
    if lift not in ("identity", "rbf", "compact"):
        raise ValueError(f"a function with the lift {lift} cannot be exported by this version")
    bits = parts["bits"]
    arrays: Constants = {}
    for name in ("center", "scale", "offset", "linear_weights"):
        if parts[name] is not None:
            arrays[name] = parts[name]
    weights = parts["weights"]
    told = {"lift": lift, "unit": parts["unit"], "bits": bits, "dim": parts["dim"]}
    if lift == "rbf":
        arrays["anchors"] = np.ascontiguousarray(parts["anchors"].T)
        squares = (parts["anchors"].astype(np.float64) ** 2).sum(axis=1)
        arrays["squared_norms"] = squares.astype(np.float32)
        told["gamma"] = parts["gamma"]
    if lift == "compact":
        if len(parts["directions"]):
            arrays["directions"] = np.ascontiguousarray(parts["directions"].T)
        depth = parts["anchors"].shape[1]
        told["exact_in_single"] = depth * LARGEST_BYTE**2 < EXACT
        whole = np.float32 if told["exact_in_single"] else np.float64
        arrays["anchors"] = np.ascontiguousarray(parts["anchors"].T, dtype=whole)
        arrays["steps"] = parts["steps"]
        arrays["squared_norms"] = parts["squared_norms"]
        arrays["similarity_center"] = np.rint(parts["similarity_center"] * np.float32(UNIT))
        factor = np.float32(-parts["gamma"]) * np.float32(np.log2(np.e))
        told["factor"] = float(max(factor, np.float32(-FINITE)))
        largest = np.abs(weights).max(axis=0)
        there = largest >= np.finfo(np.float32).tiny
        shares = np.where(there, weights / np.where(there, largest, 1), 0).astype(np.float32)
        # The weights become integers, whose products are exact in float64.
        weights = np.rint(shares * np.float32(LARGEST)).astype(np.float64)
        arrays["weight_steps"] = largest / np.float32(LARGEST) / np.float32(UNIT)
    arrays["weights"] = np.ascontiguousarray(weights)
    # A product with this matrix packs bits: bit b counts 2^(b % 8) in byte b / 8.
    packing = np.zeros((bits, (bits + 7) // 8), dtype=np.float32)
    packing[np.arange(bits), np.arange(bits) // 8] = 2.0 ** (np.arange(bits) % 8)
    arrays["packing"] = packing
    return arrays, told


def codes(xp: Any, x: Any, c: Mapping[str, Any], told: Mapping[str, Any]) -> Any:
    """Returns the packed codes of vectors. `xp` has the array functions, `c` the constants in its array type."""
    return xp.bytes(xp.single(projections(xp, x, c, told) > 0.0) @ c["packing"])


def projections(xp: Any, x: Any, c: Mapping[str, Any], told: Mapping[str, Any]) -> Any:
    """Returns the projections, whose signs are the bits."""
    prepared = _prepared(xp, x, c, told)
    if told["lift"] == "identity":
        out = prepared @ c["weights"]
    elif told["lift"] == "rbf":
        out = _rbf(xp, prepared, c, told) @ c["weights"]
    else:
        whole = xp.double(_compact(xp, prepared, c, told))
        out = xp.single(whole @ c["weights"]) * c["weight_steps"]
    if "linear_weights" in c:
        out = out + prepared @ c["linear_weights"]
    return out + c["offset"] if "offset" in c else out


def _prepared(xp: Any, x: Any, c: Mapping[str, Any], told: Mapping[str, Any]) -> Any:
    if "center" in c:
        x = x - c["center"]
    if "scale" in c:
        x = xp.clip(xp.clip(x, -FINITE, FINITE) * c["scale"], -FINITE, FINITE)
    if told["unit"]:
        precise = xp.double(x)
        norm = xp.sqrt(xp.sum(precise * precise))
        # A row of zeros stays a row of zeros.
        x = xp.single(precise * xp.where(norm > 0.0, xp.reciprocal(norm), norm))
    return x


def _squared_norm(xp: Any, rows: Any) -> Any:
    precise = xp.double(rows)
    return xp.single(xp.sum(precise * precise))


def _rbf(xp: Any, rows: Any, c: Mapping[str, Any], told: Mapping[str, Any]) -> Any:
    distances = _squared_norm(xp, rows) + c["squared_norms"] - (rows @ c["anchors"]) * 2.0
    return xp.exp(xp.clip(xp.clip(distances, 0.0, FINITE) * -told["gamma"], -80.0, 0.0))


def _compact(xp: Any, rows: Any, c: Mapping[str, Any], told: Mapping[str, Any]) -> Any:
    reduced = rows @ c["directions"] if "directions" in c else rows
    largest = xp.max(xp.abs(reduced))
    there = xp.clip(largest, 1e-30, FINITE)
    whole = xp.round(xp.clip(reduced * (xp.reciprocal(there) * LARGEST_BYTE), -LARGEST_BYTE, LARGEST_BYTE))
    # A row whose square would underflow is treated as zeros.
    step = xp.where(largest > 1e-30, largest, largest - largest) / LARGEST_BYTE
    if told["exact_in_single"]:
        products = whole @ c["anchors"]
    else:
        products = xp.single(xp.double(whole) @ c["anchors"])
    products = products * (step * 2.0) * c["steps"]
    distances = xp.clip(_squared_norm(xp, rows) + c["squared_norms"] - products, 0.0, FINITE)
    power = xp.clip(distances * told["factor"], -30.0, 0.0)
    # 2^power is computed as in the library: an integer power of 2 times a polynomial in the rest.
    exponent = xp.round(power)
    rest = power - exponent
    similarity = rest * EXP2_TERMS[0] + EXP2_TERMS[1]
    for term in EXP2_TERMS[2:]:
        similarity = similarity * rest + term
    similarity = similarity * (xp.exp2(exponent) * UNIT)
    return xp.round(xp.clip(similarity, 0.0, LARGEST)) - c["similarity_center"]
