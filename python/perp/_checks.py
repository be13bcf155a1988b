"""Arguments: what is wrong with one, by its name, and what was expected."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._library import ArgumentError, Array, ffi, unknown_word

if TYPE_CHECKING:
    from typing import TypeVar

    from typing_extensions import ParamSpec

    Parameters = ParamSpec("Parameters")
    Answer = TypeVar("Answer")


class UnknownNameError(ArgumentError, KeyError):
    """A name that does not exist; the message has the nearest one and all there are."""

    def __str__(self) -> str:
        return Exception.__str__(self)


def kind(value: object) -> str:
    """The type of a value, for messages."""
    return type(value).__name__


def _c_word(word: str) -> Any:
    return ffi.new("char[]", word.replace("\0", "?").encode("utf-8", "replace"))


def unknown(what: str, word: str, words: Sequence[str]) -> UnknownNameError:
    """ "unknown joint 'kne'; did you mean 'knee'? There are: hip knee"."""
    if not words:
        return UnknownNameError(f"unknown {what} {word!r}; there are none")
    return UnknownNameError(unknown_word(what, _c_word(word), [_c_word(w) for w in words]))


def suggests(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """A keyword that a function does not have is an error with the nearest one."""
    known: list[str] = []

    @functools.wraps(function)
    def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Answer:
        if options and not known:
            known.extend(name for name in inspect.signature(function).parameters if name != "self")
        for name in options:
            if name not in known:
                raise unknown("option", name, known)
        return function(*arguments, **options)

    return call


def number(name: str, value: Any, at_least: float = -math.inf, above: float = -math.inf, at_most: float = math.inf) -> float:
    """A finite number within bounds."""
    bound = f" >= {at_least:g}" if at_least > -math.inf else f" > {above:g}" if above > -math.inf else ""
    bound += f" and <= {at_most:g}" if at_most < math.inf else ""
    if isinstance(value, (str, bytes, bool)):
        raise ArgumentError(f"{name}: a number{bound} is expected, not {value!r}")
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name}: a number{bound} is expected, not {kind(value)}") from None
    if not (math.isfinite(x) and x >= at_least and x > above and x <= at_most):
        raise ArgumentError(f"{name}: a finite number{bound} is expected, not {x:g}")
    return x


def count(name: str, value: Any, at_least: int = 0, at_most: int = 2**31 - 1) -> int:
    """A whole number within bounds."""
    try:
        n = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}: a whole number >= {at_least} is expected, not {kind(value)}") from None
    if isinstance(value, bool) or not at_least <= n <= at_most:
        raise ArgumentError(f"{name}: a whole number from {at_least} to {at_most} is expected, not {value}")
    return n


def shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def numbers(name: str, value: Any, shape: tuple[int, ...], finite: bool = True) -> Array:
    """A contiguous array of exactly this shape; an entry -1 stands for any length."""
    wanted = shape_text(shape).replace("-1", "n")
    try:
        with np.errstate(all="ignore"):
            array = np.array(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name}: numbers of shape {wanted} are expected, not {kind(value)}") from None
    if array.ndim == 0 and shape != ():
        raise ArgumentError(f"{name}: numbers of shape {wanted} are expected, not one number")
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape)):
        raise ArgumentError(f"{name}: numbers of shape {wanted} are expected, not of shape {shape_text(array.shape)}")
    if finite and not np.isfinite(array).all():
        raise ArgumentError(f"{name}: finite numbers are expected; entry {tuple(map(int, np.argwhere(~np.isfinite(array))[0]))} is not")
    return array


def truths(name: str, value: Any, n: int) -> NDArray[np.bool_]:
    """A mask of n entries."""
    try:
        mask = np.array(value)
    except ValueError:
        mask = np.empty(0)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise ArgumentError(f"{name}: {n} truth values are expected, not {kind(value)} of {mask.dtype} of shape {shape_text(mask.shape)}")
    return mask


def fill(name: str, array: Array, value: Any) -> None:
    """array[...] = value, or an error that names the array."""
    try:
        new = np.asarray(value)
        if new.dtype.kind not in "fiu":
            raise TypeError
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: numbers of shape {shape_text(array.shape)} are expected, not {kind(value)}") from None
    try:
        array[...] = new
    except ValueError:
        expected, given = shape_text(array.shape), shape_text(new.shape)
        raise ArgumentError(f"{name}: numbers of shape {expected} are expected, not of shape {given}") from None


def word(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name}: a string is expected, not {kind(value)}")
    return value


def choice(name: str, value: Any, words: Sequence[str]) -> int:
    """The number of a word in a list."""
    if word(name, value) not in words:
        raise unknown(name, value, words)
    return words.index(value)


def path(name: str, value: Any) -> bytes:
    """A path for the library."""
    try:
        encoded = os.fsencode(value)
    except (TypeError, UnicodeError):
        raise ArgumentError(f"{name}: a path is expected, not {kind(value)}") from None
    if b"\0" in encoded or not encoded:
        raise ArgumentError(f"{name}: a path is expected, not {value!r}")
    return encoded
