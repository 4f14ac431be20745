"""The recipe on decks so small that everything is exact: how far from equilibrium uniform play, CFR+ and our self-play are."""

import dataclasses
import io
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from settebello import GAMES, BatchEnv
from settebello.errors import OptionError
from settebello.opponents.endings import ending_actions
from settebello_training.checkpoint import write_atomically
from settebello_training.config import TrainConfig, merge_settings
from settebello_training.network import masked_log_probs
from settebello_training.progress import source_commit
from settebello_training.sequences import Player, SequenceGame, Vector, cfr_plus, sequence_form
from settebello_training.trainer import Trainer

GAME: Final = "tressette-2p"
PICTURE: Final = "exploitability.png"
RESULT: Final = "exploitability.json"
ENOUGH: Final = 0.05  # share of uniform's exploitability below which self-play must come
ITERATIONS: Final = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)  # of CFR+
MEASUREMENTS: Final = 12
ROWS_AT_ONCE: Final = 8192
# Of these decks little is left to learn where endings are exact: here they are learnt too, unless asked for.
SETTINGS: Final[Mapping[str, Any]] = {
    "hidden": (64, 64),
    "num_envs": 128,
    "exact_endings": False,
    "evaluations": 0,
    "tensorboard": False,
    "minutes": None,
}
FIXED: Final = ("game", "minutes", "episode", "reward", "evaluations")  # of every deck
DECK_OPTIONS: Final = ("deck_cards", "hand_size")


@dataclasses.dataclass(frozen=True)
class SmallDeck:
    """A game small enough.

    Attributes:
        name: what it is called.
        cards: in text form.
        hand_size: cards dealt to each seat; the others are the stock.
        decisions: training budget.
    """

    name: str
    cards: str
    hand_size: int
    decisions: int


# Ace, two and three together: what to keep and what to spend is not obvious, and uniform play loses much.
DECKS: Final = (
    SmallDeck("6 cards, 2 in hand, 2 in the stock", "Ad 2d 3d Ac 2c 3c", 2, 1_000_000),
    SmallDeck("8 cards, 3 in hand, 2 in the stock", "Ad 2d 3d 4d Ac 2c 3c 4c", 3, 3_000_000),
    SmallDeck("8 cards, 2 in hand, 4 in the stock", "Ad 2d 3d 4d Ac 2c 3c 4c", 2, 5_000_000),
)


def load_game(deck: SmallDeck) -> Any:
    """A small deck as a game of OpenSpiel's.

    Raises:
        OptionError: OpenSpiel is not installed.
    """
    try:
        import pyspiel

        import settebello.openspiel  # noqa: F401  registers the games
    except ImportError as error:
        raise OptionError(f"exact: {error}; this command needs OpenSpiel: pip install 'settebello[openspiel]'") from error
    return pyspiel.load_game("settebello_tressette_2p", {"deck_cards": deck.cards, "hand_size": deck.hand_size})


def solve_tree(deck: SmallDeck) -> SequenceGame:
    """The whole game of a small deck; payoffs are points of the deal.

    Of each information state it keeps the seat's observation and, behind it, a best card once the stock is empty, else -1.
    """
    game = load_game(deck)
    batch = BatchEnv(GAME, 1, episode="deal", reward="points", deck_cards=game.cards, hand_size=deck.hand_size)
    rng, rows = np.random.default_rng(0), np.zeros(1, np.int64)

    def observe(state: Any, player: int) -> NDArray[np.int8]:
        information = state.information(player)
        # One world of those that the seat cannot tell apart: while there is a stock nothing is read from it, then it is alone.
        batch.set_state(0, information.sample_world(rng))
        return np.append(information.observation(), ending_actions(batch, rows).astype(np.int8))

    return sequence_form(game, observe)


def uniform_policies(game: SequenceGame) -> tuple[Vector, Vector]:
    """Uniform play of both."""
    return game.players[0].uniform, game.players[1].uniform


def network_policies(game: SequenceGame, network: torch.nn.Module, exact_endings: bool) -> tuple[Vector, Vector]:
    """What a network plays, with the probability it gives each card, in every information state.

    Args:
        game: made by ``solve_tree``.
        network: of observations.
        exact_endings: once the stock is empty a best card is played instead, as in training and evaluation with that setting.
    """
    first, second = (_network_policy(player, network, exact_endings) for player in game.players)
    return first, second


def _network_policy(player: Player, network: torch.nn.Module, exact_endings: bool) -> Vector:
    state, action = player.state[1:], player.action[1:]
    mask = np.zeros((len(player.rows), GAMES[GAME].num_actions), np.int8)
    mask[state, action] = 1
    device = next(network.parameters()).device
    parts = []
    with torch.inference_mode():
        for start in range(0, len(mask), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            rows, legal = (torch.from_numpy(array[part]).to(device) for array in (player.rows[:, :-1], mask))
            parts.append(masked_log_probs(network(rows)[0], legal).double().exp().cpu().numpy())
    weights = np.ones(len(player.action))
    weights[1:] = np.concatenate(parts)[state, action]
    if exact_endings:
        best = player.rows[state, -1]
        weights[1:] = np.where(best < 0, weights[1:], action == best)
    return player.normalised(weights)


def most_probable(game: SequenceGame, policies: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """The policies that always play the most probable card (of equal ones the first)."""
    first, second = (player.most_probable(policy) for player, policy in zip(game.players, policies, strict=True))
    return first, second


def training_config(deck: SmallDeck, settings: Mapping[str, Any]) -> TrainConfig:
    """The recipe on a small deck: the settings of any run but for the sizes, a small network and fewer games side by side.

    Raises:
        OptionError: a setting is unknown or not allowed.
    """
    for name in (*FIXED, *(f"options.{option}" for option in DECK_OPTIONS)):
        if name in settings or name.removeprefix("options.") in settings.get("options", {}):
            raise OptionError(f"setting {name!r}: is the same for every small deck, and cannot be set here")
    if settings.get("decisions", 1) is None:
        raise OptionError("decisions=None: expected a number, the budget of the training on each deck")
    cards = load_game(deck).cards
    own = {"game": GAME, "decisions": deck.decisions, "options": {"deck_cards": cards, "hand_size": deck.hand_size}}
    return TrainConfig.from_dict(merge_settings({**SETTINGS, **own}, settings))


def check_deck(deck: SmallDeck, settings: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Everything about one deck: exploitabilities in points of the deal.

    Args:
        deck: the deck.
        settings: of the training, over those of ``training_config``.
        say: is told what was measured.

    Raises:
        OptionError: OpenSpiel is not installed, or a setting is not allowed.
        TrainingError: the loss is no longer a number.
    """
    config = training_config(deck, settings)
    start = time.perf_counter()
    game = solve_tree(deck)
    states = sum(len(player.names) for player in game.players)
    say(f"{deck.name} ({deck.cards}): {states:,} information states, {time.perf_counter() - start:.0f} s to list them")
    uniform = game.exploitability(uniform_policies(game))
    say(f"  uniform: {uniform:.4f} points a deal")
    cfr = []
    start = time.perf_counter()
    for number, policies in enumerate(itertools.islice(cfr_plus(game), ITERATIONS[-1]), 1):
        if number in ITERATIONS:
            seconds = time.perf_counter() - start
            cfr.append({"iterations": number, "exploitability": game.exploitability(policies), "seconds": seconds})
            say(f"  CFR+, {number:>4} iterations: {_share(cfr[-1], uniform)}")
    values = {
        "deck": dataclasses.asdict(deck),
        "information_states": states,
        "uniform": uniform,
        "value": game.value(policies),
        "cfr_plus": cfr,
        "cfr_plus_most_probable": game.exploitability(most_probable(game, policies)),
        "config": config.to_dict(),
    }
    trainer = Trainer(config)
    curve: list[dict[str, Any]] = []
    seconds = 0.0
    while True:
        if trainer.fraction >= len(curve) / MEASUREMENTS:
            policies = network_policies(game, trainer.network, config.settles)
            curve.append({"decisions": trainer.decisions, "seconds": seconds, "exploitability": game.exploitability(policies)})
            say(f"  self-play, {trainer.decisions:>10,} decisions, {seconds:4.0f} s: {_share(curve[-1], uniform)}")
        if trainer.fraction >= 1:
            break
        start = time.perf_counter()
        trainer.update()
        seconds += time.perf_counter() - start
    greedy = game.exploitability(most_probable(game, policies))
    return values | {
        "self_play": curve,
        "self_play_most_probable": greedy,
        "enough": curve[-1]["exploitability"] < ENOUGH * uniform,
    }


def _share(point: Mapping[str, Any], uniform: float) -> str:
    return f"{point['exploitability']:.4f} points, {100 * point['exploitability'] / uniform:.2f} % of uniform's"


def write_results(folder: Path, results: Sequence[Mapping[str, Any]], command: str) -> None:
    """Leave results as JSON and as a picture in a folder."""
    values = {"command": command, "commit": source_commit(), "unit": "points of the deal", "decks": list(results)}
    write_atomically(folder / RESULT, (json.dumps(values, indent=1) + "\n").encode())
    write_atomically(folder / PICTURE, picture(results))


def picture(results: Sequence[Mapping[str, Any]]) -> bytes:
    """Exploitability as a share of uniform's, on a log scale, by iterations of CFR+ and by decisions of self-play, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # as in progress.py
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), dpi=120, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    for number, result in enumerate(results):
        style = {"color": f"C{number}", "marker": "o", "markersize": 3.5, "label": result["deck"]["name"]}
        for axes, points, unit in ((left, result["cfr_plus"], "iterations"), (right, result["self_play"], "decisions")):
            shares = [point["exploitability"] / result["uniform"] for point in points]
            axes.plot([point[unit] for point in points], shares, **style)
    for axes, title, unit in ((left, "CFR+", "iterations"), (right, "self-play", "decisions trained on")):
        axes.axhline(1, color="0.4", linewidth=1, linestyle="--")
        axes.axhline(ENOUGH, color="0.4", linewidth=1, linestyle=":")
        axes.set_yscale("log")
        axes.set_xlabel(unit)
        axes.set_title(title)
        axes.grid(alpha=0.3)
    left.set_xscale("log")
    left.set_ylabel("exploitability, share of uniform play's")
    left.text(1, 1, "uniform ", va="bottom", color="0.4")
    left.text(1, ENOUGH, f"{ENOUGH:.0%} ", va="bottom", color="0.4")
    right.legend(fontsize="small")
    file = io.BytesIO()
    canvas.print_png(file)  # type: ignore[no-untyped-call]
    return file.getvalue()
