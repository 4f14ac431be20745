"""Opponents: anything that is given what one seat knows and answers with an action of that seat."""

import ast
import importlib
import os
from typing import Any, Final, Protocol, runtime_checkable

from settebello.errors import IllegalActionError, OptionError, SettebelloError
from settebello.game import get_game
from settebello.information import Information
from settebello.opponents.compiled import COMPILED_LEVELS, CompiledOpponent
from settebello.opponents.exported import MANIFEST, ExportedOpponent
from settebello.options import check_choice, whole_number

__all__ = ["LEVELS", "Opponent", "ask", "check_opponent", "from_spec", "load"]

LEVELS: Final = (*COMPILED_LEVELS, "hard", "search", "cheat")


@runtime_checkable
class Opponent(Protocol):
    """What an opponent must have.

    It may also have

    - ``act_batch(batch, rows)``: an action for the seat to move in each of these rows of a ``BatchEnv``, whose
      ``observation``, ``action_mask`` and ``seat`` show them (of other rows they may be out of date). It is handed the games
      themselves, and trusted not to look at hidden cards nor to change anything;
    - ``reseed(seed)``: start its random streams anew, so that what is measured can be measured again;
    - ``needs_state = True``: it sees all cards. Only the arena lets it play, with ``act(information, state)`` (``state`` as
      ``get_state`` gives it) or ``act_batch``.
    """

    def act(self, information: Information) -> int:
        """An action of the seat that knows this, one of ``information.legal_actions()``."""


def load(game: str, level: str | os.PathLike[str], seed: int | None = None, **parameters: Any) -> Opponent:
    """An opponent of a level, or one that was trained.

    ======== ======================================================================================================
    random   any legal action, each as likely as any other
    easy     plausible cards; forgets what is out and errs often
    medium   what good club players know: counts cards, guards aces, works with its partner
    search   samples worlds that agree with what it knows and plays them out; exact where the game is open
    hard     learned by self-play; looks ahead in sampled worlds; exact where the game is open
    cheat    sees all cards; for the arena only, as a ceiling
    ======== ======================================================================================================

    Args:
        game: ``tressette-2p``, ``tressette-4p`` or ``bazzica``.
        level: one of the above, or the path of what a training run left: its folder, or the ``manifest.json`` in it.
        seed: of its random streams; None takes the system's entropy. The same seed and parameters give the same choices.
        **parameters: of the level. ``search``: see ``settebello.opponents.search.SearchParameters``; ``cheat``: see
            ``CheatParameters`` there; ``hard``: see ``settebello.opponents.hard.HardParameters``; a path: ``temperature``, see
            ``settebello.opponents.exported.ExportedOpponent``; the others have none.

    Raises:
        OptionError: unknown game, level or parameter, or a value that is not allowed.
        CheckpointError: nothing is at the path, or it is damaged or of another game, version or observation.
    """
    game = get_game(game).id
    if _is_path(level):
        for name in parameters:
            if name != "temperature":
                raise OptionError(f"unknown parameter {name!r}: a trained opponent has only 'temperature'")
        return ExportedOpponent(game, level, seed, **parameters)
    check_choice("level", level, LEVELS)
    if level in COMPILED_LEVELS:
        if parameters:
            raise OptionError(f"unknown parameter {next(iter(parameters))!r}: level {level!r} has none")
        return CompiledOpponent(game, level, seed)
    # These compile for some seconds: only where they play.
    if level == "hard":
        from settebello.opponents.hard import HardOpponent

        return HardOpponent.create(game, seed, **parameters)
    from settebello.opponents.search import CheatOpponent, SearchOpponent

    kind = CheatOpponent if level == "cheat" else SearchOpponent
    return kind.create(game, seed, **parameters)


def _is_path(level: object) -> bool:
    """Whether this is a path and not the name of a level: text that exists as one, or that can be nothing else."""
    if not isinstance(level, str):
        return isinstance(level, os.PathLike)
    return level not in LEVELS and (os.path.exists(level) or "/" in level or os.sep in level or level.endswith(MANIFEST))


def from_spec(game: str, spec: str, seed: int | None = None) -> Opponent:
    """An opponent from the text that commands take.

    Args:
        game: ``tressette-2p``, ``tressette-4p`` or ``bazzica``.
        spec: a level (``medium``), with parameters or without (``search:worlds=16``, ``search:budget_ms=10``); the
            path of what a training run left (``runs/first``, ``runs/first:temperature=1``); or ``package.module:function``,
            which is called as ``function(game, seed)`` and returns an opponent.
        seed: of its random streams; None takes the system's entropy.

    Raises:
        OptionError: the text is none of these, or what it names cannot be loaded.
        CheckpointError: as ``load``.
    """
    if not isinstance(spec, str):
        raise OptionError(f"opponent {spec!r}: expected text")
    name, colon, rest = spec.partition(":")
    if name in LEVELS:
        return load(game, name, seed, **(_parameters(spec, rest) if colon else {}))
    path, _, text = spec.rpartition(":")
    if "=" in text and not os.path.exists(spec) and _is_path(path):
        return load(game, path, seed, **_parameters(spec, text))
    if _is_path(spec):
        return load(game, spec, seed)
    if colon and all(part.isidentifier() for part in (*name.split("."), *rest.split("."))):
        return _from_module(get_game(game).id, spec, name, rest, seed)
    raise OptionError(
        f"opponent {spec!r}: expected a level ({', '.join(LEVELS)}), a level with parameters as in 'search:worlds=16', "
        "the path of a trained one, or 'package.module:function'"
    )


def _parameters(spec: str, text: str) -> dict[str, Any]:
    """Parameters after a level's colon: name=value, separated by commas."""
    parameters: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.isidentifier() or name in parameters:
            raise OptionError(f"opponent {spec!r}: expected name=value after the colon, separated by commas, each name once")
        if name in ("game", "level", "seed"):
            raise OptionError(f"opponent {spec!r}: {name!r} is not a parameter that is given here")
        try:
            parameters[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            parameters[name] = value
    return parameters


def _from_module(game: str, spec: str, module: str, path: str, seed: int | None) -> Opponent:
    """What ``function(game, seed)`` of a module returns."""
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever a module does while it is imported
        raise OptionError(f"opponent {spec!r}: cannot import {module!r}: {type(error).__name__}: {error}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise OptionError(f"opponent {spec!r}: {module!r} has no {path!r}")
        found = getattr(found, name)
    if not callable(found):
        raise OptionError(f"opponent {spec!r}: expected a function of (game, seed), found {found!r}")
    try:
        opponent = found(game, seed)
    except SettebelloError:
        raise
    except (Exception, SystemExit) as error:
        raise OptionError(f"opponent {spec!r}: {path} raised {type(error).__name__}: {error}") from error
    check_opponent(f"what {spec} returned", opponent, cheats=True)
    checked: Opponent = opponent
    return checked


def check_opponent(name: str, opponent: object, *, cheats: bool = False) -> None:
    """Refuse what cannot play.

    Args:
        name: of the argument, for the message.
        opponent: must have a method ``act``.
        cheats: whether it may ask for the state.

    Raises:
        OptionError: it has none, or it sees all cards and must not.
    """
    if isinstance(opponent, type) or not callable(getattr(opponent, "act", None)):
        raise OptionError(
            f"{name}={opponent!r}: expected a level ({', '.join(repr(level) for level in LEVELS)}), "
            "the path of a trained one as text, or an object with a method act(information)"
        )
    if not cheats and getattr(opponent, "needs_state", False):
        raise OptionError(f"{name}={opponent!r}: it sees all cards, and plays in the arena only")


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
