"""The extension module, made by cffi from the public headers (python/declarations.py)."""

from typing import Any

ffi: Any
lib: Any
