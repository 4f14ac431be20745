"""Files that the commands write: refused early where they cannot be written, and written whole or not at all."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from settebello.errors import OptionError

CHART_FORMATS: Final = (".png", ".svg", ".pdf")


def check_output(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before any work is done.

    Raises:
        OptionError: its folder does not exist, or it is a folder itself.
    """
    if path.is_dir():
        raise OptionError(f"{option} {path}: is a folder")
    if not path.parent.is_dir():
        raise OptionError(f"{option} {path}: there is no folder {path.parent}")


def check_chart(option: str, path: Path) -> None:
    """Refuse a chart that cannot be drawn, before any work is done.

    Raises:
        OptionError: its name does not end in a known format, or matplotlib is not installed.
    """
    if path.suffix not in CHART_FORMATS:
        raise OptionError(f"{option} {path}: its name must end in {', '.join(CHART_FORMATS)}")
    try:
        import matplotlib.figure  # noqa: F401  heavy: only when wanted
    except ImportError as error:
        raise OptionError(f"{option} {path}: needs matplotlib ({error}); pip install matplotlib") from error


def write_json(values: Mapping[str, Any], path: Path, *, indent: int | None = 1) -> None:
    """Write values as JSON, beside their place first and then moved there in one step.

    Raises:
        OptionError: the file cannot be written; what was there before is kept.
    """
    text = json.dumps(values, indent=indent, allow_nan=False) + "\n"
    # Moved onto a device (/dev/stdout) or a link, the file would replace it.
    place = path.with_name(f".{path.name}.{os.getpid()}.tmp") if path.is_file() or not path.exists() else path
    try:
        try:
            place.write_text(text, encoding="utf-8")
            if place != path:
                os.replace(place, path.resolve())
        finally:
            if place != path:
                place.unlink(missing_ok=True)
    except OSError as error:
        raise OptionError(f"{path}: not written ({error.strerror})") from error
