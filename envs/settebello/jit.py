"""The one decorator that every compiled kernel uses.

``error_model="numpy"`` drops the zero-division branches, ``inline=True`` forces LLVM to inline helpers into the kernel
that calls them. Kernels are cached on disk; where no folder is writable they compile in memory at every start.
A kernel's cache entry is tied to all kernel sources of the package, since Numba itself looks only at the file that holds
the kernel and would keep a stale one after an edit to a helper in another file.
"""

import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from llvmlite import ir
from numba.core import event, typeinfer
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

DISABLED = bool(numba.config.DISABLE_JIT)
_PACKAGE = Path(__file__).resolve().parent
# An edit there keeps the compiled kernels.
_NO_KERNELS = {
    "arena",
    "bench",
    "cli.py",
    "describe.py",
    "equity.py",
    "exported.py",
    "hard.py",
    "output.py",
    "render",
    "search.py",
    "shipped.py",
    "testing.py",
}


def _source_stamp() -> tuple[float, int]:
    """Newest modification time and total size of the sources that kernels may come from: changes whenever one of them does."""
    sources = (path for path in _PACKAGE.rglob("*.py") if not _NO_KERNELS & set(path.relative_to(_PACKAGE).parts))
    stats = [path.stat() for path in sources]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)


_STAMP = _source_stamp()
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}  # of all kernels


def _stamp_cache(compiled: Any) -> None:
    """Tie the cache entry of a kernel to all kernel sources."""
    cache_file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _STAMP


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
        options = _OPTIONS | {"forceinline": inline}
        arguments = () if signature is None else (signature,)
        if DISABLED:
            return cast(Function, numba.njit(*arguments, **options)(function))
        try:
            dispatcher = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no writable cache folder: Numba refuses cache=True
            return cast(Function, numba.njit(*arguments, **options)(function))
        _stamp_cache(dispatcher)
        if signature is not None:
            with typeinfer.register_dispatcher(dispatcher):  # a kernel that calls itself is not yet a global here
                dispatcher.compile(signature)
            dispatcher.disable_compile()
        return cast(Function, dispatcher)

    return decorate if function is None else decorate(function)


def address(function: Any, signature: Any) -> Any:
    """A kernel compiled apart, as an address for ``call``: kernels that call it are not compiled together with it.

    For large kernels that many others call: each caller would compile and optimise them once more.

    Args:
        function: a kernel of a record and one more argument that returns an int64.
        signature: its explicit Numba signature.

    Returns:
        int; uncompiled, the function itself.
    """
    plain = getattr(function, "py_func", function)
    if DISABLED:
        return plain
    renamed = types.FunctionType(plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__)
    renamed.__module__ = plain.__module__
    renamed.__qualname__ = f"{plain.__qualname__}_address"  # names the cache entry, which must not be the kernel's
    compiled: Any = CFunc(renamed, normalize_signature(signature), locals={}, options=_OPTIONS)
    try:
        compiled.enable_caching()
        _stamp_cache(compiled)
    except RuntimeError:  # no writable cache folder
        pass
    compiled.compile()
    _COMPILED.append(compiled)  # the code lives as long as this does
    return compiled.address


_COMPILED: list[Any] = []

if DISABLED:

    def call(function: Any, record: Any, argument: Any) -> Any:
        """Call what ``address`` returned."""
        return function(record, argument)

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typing_context: Any, address: Any, record: Any, argument: Any) -> Any:
        """Call what ``address`` returned."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args[1:]]
            function = ir.FunctionType(context.get_value_type(signature.return_type), kinds)
            return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])

        return numba.int64(numba.int64, record, argument), generate


class _CompileNotice(event.Listener):  # type: ignore[misc]
    """Says once per process, on stderr, that the first use compiles."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.said and function is not None and function.__module__.startswith("settebello."):
            self.said = True
            times = "about 10 s a game, half a minute for the search opponent"
            print(f"settebello: compiling the game kernels, once per machine ({times}) ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


if not DISABLED and not os.environ.get("SETTEBELLO_QUIET"):
    event.register("numba:compile", _CompileNotice())
