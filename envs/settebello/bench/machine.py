"""Where a run was measured."""

import datetime
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import settebello

PACKAGES: Final = ("numpy", "numba", "gymnasium", "pettingzoo")


def machine(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Processor, versions (those packages' too, where installed), date (UTC), commit of the checkout, and the command."""
    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "settebello": settebello.__version__,
        "packages": {name: version for name in (*PACKAGES, *packages) if (version := package_version(name)) is not None},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def cpu_model() -> str:
    """Name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def package_version(name: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit() -> str | None:
    """The commit of the checkout that this package is run from ("-dirty": with changes), None for an installed copy."""
    root = Path(settebello.__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None
