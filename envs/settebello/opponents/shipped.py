"""Where the trained opponents lie that come with settebello."""

from pathlib import Path
from typing import Final

from settebello.errors import CheckpointError
from settebello.opponents.exported import MANIFEST

PACKAGE: Final = Path(__file__).resolve().parents[1]
# In an installed package beside its modules, in a checkout at its top.
PLACES: Final = (PACKAGE / "checkpoints", PACKAGE.parents[1] / "checkpoints")


def shipped_folder(game: str) -> Path:
    """The checkpoint folder of the hard opponent of a game.

    Raises:
        CheckpointError: this installation has none.
    """
    for place in PLACES:
        folder = place / game
        if (folder / MANIFEST).is_file():
            return folder
    raise CheckpointError(
        f"no hard opponent for {game!r} in this installation of settebello (looked in "
        f"{' and '.join(str(place / game) for place in PLACES)}); install it again, or play level 'search'"
    )
