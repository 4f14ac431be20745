"""Opponents: anything that is given what one seat knows and answers with an action of that seat."""

from typing import Any, Final, Protocol, runtime_checkable

from settebello.errors import IllegalActionError, OptionError
from settebello.game import get_game
from settebello.information import Information
from settebello.opponents.random_player import RandomOpponent
from settebello.options import check_choice, whole_number

__all__ = ["LEVELS", "Opponent", "RandomOpponent", "ask", "check_opponent", "load"]

LEVELS: Final = ("random",)


@runtime_checkable
class Opponent(Protocol):
    """What an opponent must have.

    It may also have ``act_batch(batch, rows)``: an action for the seat to move in each of these rows of a ``BatchEnv``, whose
    ``observation``, ``action_mask`` and ``seat`` show them (of other rows they may be out of date).
    """

    def act(self, information: Information) -> int:
        """An action of the seat that knows this, one of ``information.legal_actions()``."""


def load(game: str, level: str, seed: int | None = None, **parameters: Any) -> RandomOpponent:
    """An opponent of a level.

    Args:
        game: ``tressette-2p``, ``tressette-4p`` or ``bazzica``.
        level: ``random``.
        seed: of its random stream; None takes the system's entropy.
        **parameters: of the level; ``random`` has none.

    Raises:
        OptionError: unknown game, level or parameter, or a seed that is not allowed.
    """
    get_game(game)
    check_choice("level", level, LEVELS)
    if parameters:
        raise OptionError(f"unknown parameter {next(iter(parameters))!r}: level {level!r} has none")
    return RandomOpponent(seed)


def check_opponent(name: str, opponent: object) -> None:
    """Refuse what cannot play.

    Args:
        name: of the argument, for the message.
        opponent: must have a method ``act``.

    Raises:
        OptionError: it has none.
    """
    if isinstance(opponent, type) or not callable(getattr(opponent, "act", None)):
        raise OptionError(
            f"{name}={opponent!r}: expected a level ({', '.join(repr(level) for level in LEVELS)}) "
            "or an object with a method act(information)"
        )


def ask(opponent: Opponent, information: Information) -> int:
    """The action an opponent takes, checked.

    Raises:
        IllegalActionError: naming the opponent, what it answered and what is legal.
    """
    action = opponent.act(information)
    legal = information.legal_actions()
    number = whole_number(action)
    if number is None or number not in legal:
        raise IllegalActionError(
            f"opponent {type(opponent).__name__} as player_{information.seat} of {information.game}: "
            f"illegal action {action!r}; legal: {legal}"
        )
    return number
