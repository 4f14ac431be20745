"""CPU seconds from the start of a process to what a user waits for: the import, and the first step.

Each is measured in a child process, which prints its own ``time.process_time()``: user and system time since it was started,
interpreter and imports included. Compiled kernels lie in a cache on disk, so the first process on a machine takes longer
than all later ones: "cold" is with an empty cache folder, "again" is the same in a second process.
"""

import os
import subprocess
import sys
import tempfile
from typing import Final

from settebello.errors import SettebelloError

_PRINT: Final = "; import time; print(time.process_time())"
_IMPORT: Final = "import settebello" + _PRINT
_FOUNDATION: Final = "import numpy, numba" + _PRINT
FIRST_STEP: Final = {
    "batch": "import settebello; env = settebello.BatchEnv({game!r}, 1); env.step(env.action_mask.argmax(axis=1))" + _PRINT,
    "aec": "from settebello.aec import AECEnv; env = AECEnv({game!r}); env.reset(seed=0); "
    "env.step(int(env.last()[0]['action_mask'].argmax()))" + _PRINT,
}


class ChildError(SettebelloError):
    """A measuring child process failed."""


def cpu_seconds(code: str, cache: str | None = None) -> float:
    """CPU seconds that a child process prints at the end of its code.

    Args:
        code: what it runs.
        cache: folder for compiled kernels, None for the usual one.

    Raises:
        ChildError: it failed; with the last line of its error output.
    """
    environment = os.environ | {"SETTEBELLO_QUIET": "1"} | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    child = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        last = child.stderr.strip().splitlines()[-1:] or ["no error output"]
        raise ChildError(f"child process: {last[0]}")
    return float(child.stdout.split()[-1])


def import_times(repeats: int) -> dict[str, list[float]]:
    """CPU seconds of ``import settebello``, and of importing NumPy and Numba alone."""
    return {
        "import": [cpu_seconds(_IMPORT) for _ in range(repeats)],
        "import_numpy_numba": [cpu_seconds(_FOUNDATION) for _ in range(repeats)],
    }


def first_step_times(game: str, kind: str, cold: bool, repeats: int) -> dict[str, list[float]]:
    """CPU seconds to the first step of a game: ``first_step_{kind}_cold`` and ``first_step_{kind}_again``.

    Args:
        game: id of the game.
        kind: of environment, a key of FIRST_STEP.
        cold: whether to compile everything anew in an empty cache folder, once; otherwise the usual folder is used.
        repeats: processes after that.
    """
    code = FIRST_STEP[kind].format(game=game)
    if not cold:
        cpu_seconds(code)  # not counted: it compiles what the folder lacks
        return {f"first_step_{kind}_again": [cpu_seconds(code) for _ in range(repeats)]}
    with tempfile.TemporaryDirectory(prefix="settebello-bench-") as cache:
        return {
            f"first_step_{kind}_cold": [cpu_seconds(code, cache)],
            f"first_step_{kind}_again": [cpu_seconds(code, cache) for _ in range(repeats)],
        }
