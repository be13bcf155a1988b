"""The C library: calls, words, and errors as exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _perp

ffi: Any = _perp.ffi
lib: Any = _perp.lib

Array = NDArray[np.float64]


class Error(Exception):
    """What perp refuses. `message` is the first sentence; file, line and column are where, as far as it is known."""

    def __init__(self, text: str) -> None:
        super().__init__(text.rstrip("\n"))
        place = re.match(r"(?P<file>.*?):(?P<line>\d+):(?:(?P<column>\d+):)? *(?P<message>.*)", text)
        known = place.groupdict() if place else {}
        self.file: str | None = known.get("file")
        self.line: int | None = int(known["line"]) if known.get("line") else None
        self.column: int | None = int(known["column"]) if known.get("column") else None
        self.message: str = known.get("message") or (text.splitlines() or [""])[0]


class ArgumentError(Error, ValueError):
    """A name that does not exist, a number out of its range."""


class ModelError(Error):
    """The model is wrong, or cannot be used for what was asked."""


class DataError(Error):
    """Data do not fit the model or each other."""


class FileError(Error):
    """A file cannot be read or written."""


class UnavailableError(Error):
    """A method that needs a library which is not installed."""


class NoSolutionError(Error):
    """A step without a verified solution. `run` is what was computed before it, None where there is none."""

    run: Any = None


def limit_memory(size: int = 0) -> None:
    """Let the library hold at most so many bytes, of all threads together; 0: no limit. Beyond it calls raise MemoryError.

    Memory of NumPy and of other libraries is not counted.
    """
    lib.perp_memory_limit(size)


def memory_held() -> int:
    """Bytes that the library holds now."""
    return int(lib.perp_memory_held())


_errors: dict[int, type[Error]] = {
    lib.PERP_ERR_ARG: ArgumentError,
    lib.PERP_ERR_DIM: ArgumentError,
    lib.PERP_ERR_FILE: FileError,
    lib.PERP_ERR_MODEL: ModelError,
    lib.PERP_ERR_DATA: DataError,
    lib.PERP_ERR_UNAVAILABLE: UnavailableError,
    lib.PERP_ERR_NO_SOLUTION: NoSolutionError,
}


class Called:
    """What the library calls back; an exception in it ends the call into the library, which then raises it (`check`)."""

    raised: BaseException | None = None

    def call(self, function: Callable[..., object], *arguments: Any) -> int:
        if self.raised is not None:
            return 1
        try:
            return int(bool(function(*arguments)))
        except BaseException as raised:
            self.raised = raised
            return 1

    def check(self) -> None:
        if self.raised is not None:
            raise self.raised


class Progress(Called):
    """A user's function that hears how far a search is, and stops it by a true answer; None: nobody listens."""

    def __init__(self, callback: Callable[..., object] | None) -> None:
        self.callback = callback

    def tell(self, *values: Any) -> int:
        return self.call(self.callback, *values) if self.callback is not None else 0


Function = TypeVar("Function", bound=Callable[..., int])


def called_by_c(function: Function) -> Function:
    """One of the functions that the library calls back; declarations.py lists them."""
    ffi.def_extern()(function)
    return function


def result(name: str) -> Any:
    """A struct that the library fills; it begins with its size."""
    return ffi.new(f"{name} *", {"size": ffi.sizeof(name)})


def text(c_string: Any) -> str:
    """A C string, "" for NULL."""
    return ffi.string(c_string).decode() if c_string else ""


def c_text(value: str) -> Any:
    return ffi.new("char[]", value.encode())


class Diagnostics:
    """Sentences of one or more calls, in a perp_diag of its own or in that of an object; `check` raises them."""

    def __init__(self, c: Any = None) -> None:
        self.c = ffi.gc(ffi.new("perp_diag *"), lib.perp_diag_clear) if c is None else c

    def take(self) -> str:
        """All that was said, once."""
        said = text(lib.perp_diag_text(self.c))
        lib.perp_diag_clear(self.c)
        return said

    def check_solved(self, status: int, outcome: int) -> None:
        """`check`, and NoSolutionError where the outcome is none."""
        solved = outcome == lib.PERP_SOLVED
        self.check(status if status != lib.PERP_OK or solved else lib.PERP_ERR_NO_SOLUTION)

    def check(self, status: int) -> None:
        if status == lib.PERP_OK:
            return
        said = self.take()
        if status == lib.PERP_ERR_MEMORY:
            raise MemoryError(said or "perp: out of memory")
        raise _errors.get(status, Error)(said or text(lib.perp_status_message(status)))


def find(what: str, word: str, look_up: Callable[[Any], int], count: int, name: Callable[[int], Any]) -> int:
    """The value of an enum by its word, or an error that says which words there are."""
    value = look_up(c_text(word))
    if value != count:
        return int(value)
    raise ArgumentError(unknown_word(what, c_text(word), [name(i) for i in range(count)]))


def unknown_word(what: str, word: Any, words: Sequence[Any]) -> str:
    """ "unknown joint 'kne'; did you mean 'knee'? There are: hip knee", of texts as C has them."""
    kind = c_text(what)
    size = sum(len(ffi.string(w)) + 2 for w in words) + len(ffi.string(kind)) + 2*len(ffi.string(word)) + 200
    said = ffi.new("char[]", size)
    return text(lib.perp_unknown_word(kind, word, ffi.new("const char *[]", words), len(words), ffi.NULL, said, size))


def set_option(options: Any, name: str, value: Any) -> None:
    """A field of an options struct. What is not given is NaN there, so that NaN cannot be given."""
    if isinstance(value, float) and value != value:
        raise ArgumentError(f"{name} is not a number (nan); None is what the model says")
    setattr(options, name, value)


def doubles(array: Array) -> Any:
    """The numbers of an array as C has them; the array must outlive the use."""
    return ffi.from_buffer("double[]", array)


def vector(name: str, value: ArrayLike, n: int | None = None) -> Array:
    """A contiguous copy of n numbers."""
    array = np.array(value, dtype=np.float64, order="C", ndmin=1)
    if array.ndim != 1 or (n is not None and array.shape[0] != n):
        raise ArgumentError(f"{name} must be {'a vector' if n is None else f'{n} numbers'}, not of shape {array.shape}")
    return array


def names(words: Sequence[str]) -> tuple[Any, list[Any]]:
    """An array of C strings, and what keeps them alive."""
    keep = [c_text(word) for word in words]
    return ffi.new("const char *[]", keep), keep
