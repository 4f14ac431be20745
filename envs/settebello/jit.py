"""The one decorator that every compiled kernel uses.

``error_model="numpy"`` drops the zero-division branches, ``inline=True`` forces LLVM to inline helpers into the kernel
that calls them. Kernels are cached on disk; where no folder is writable they compile in memory at every start.
A kernel's cache entry is tied to all kernel sources of the package, since Numba itself looks only at the file that holds
the kernel and would keep a stale one after an edit to a helper in another file.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

DISABLED = bool(numba.config.DISABLE_JIT)
_PACKAGE = Path(__file__).resolve().parent
_NO_KERNELS = {"bench", "cli.py", "describe.py", "render", "testing.py"}  # an edit there keeps the compiled kernels


def _source_stamp() -> tuple[float, int]:
    """Newest modification time and total size of the sources that kernels may come from: changes whenever one of them does."""
    sources = (path for path in _PACKAGE.rglob("*.py") if not _NO_KERNELS & set(path.relative_to(_PACKAGE).parts))
    stats = [path.stat() for path in sources]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)


_STAMP = _source_stamp()


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, inline: bool = ..., signature: Any = ...) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, *, inline: bool = False, signature: Any = None) -> Any:
    """Compile a module-level function with the settings all kernels share.

    Args:
        inline: force inlining into the caller; for small helpers on hot paths.
        signature: explicit Numba signature, needed by self-recursive kernels.
    """

    def decorate(function: Function) -> Function:
        options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "forceinline": inline}
        arguments = () if signature is None else (signature,)
        if DISABLED:
            return cast(Function, numba.njit(*arguments, **options)(function))
        try:
            dispatcher = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no writable cache folder: Numba refuses cache=True
            return cast(Function, numba.njit(*arguments, **options)(function))
        cache_file: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if hasattr(cache_file, "_source_stamp"):
            cache_file._source_stamp = _STAMP
        if signature is not None:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
        return cast(Function, dispatcher)

    return decorate if function is None else decorate(function)


class _CompileNotice(event.Listener):  # type: ignore[misc]
    """Says once per process, on stderr, that the first use compiles."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.said and function is not None and function.__module__.startswith("settebello."):
            self.said = True
            print("settebello: compiling the game kernels, once per machine (about 10 s) ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


if not DISABLED and not os.environ.get("SETTEBELLO_QUIET"):
    event.register("numba:compile", _CompileNotice())
