"""Tressette in OpenSpiel: OpenSpiel's own checks, and that it is our game, with our information, and fair chance."""

import importlib
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not here: pip install 'settebello[openspiel]'")

from settebello import tressette_v0  # noqa: E402
from settebello.cards import parse_card  # noqa: E402
from settebello.errors import OptionError  # noqa: E402
from settebello.openspiel import TressetteState  # noqa: E402

NAMES = {2: "settebello_tressette_2p", 4: "settebello_tressette_4p"}
SMALL: dict[str, Any] = {"deck_cards": "Ad 3d 4d Ac 3c 4c", "hand_size": 2}
STOCK_OF_FOUR: dict[str, Any] = {"deck_cards": "Ad 2d 3d 4d Ac 2c 3c 4c", "hand_size": 2, "napoletana": True}
GAMES = [(2, {}), (4, {}), (4, {"napoletana": True}), (2, {"reward": "win", "dealer": 0}), (2, SMALL), (2, STOCK_OF_FOUR)]


def load(players: int = 2, parameters: dict[str, Any] = SMALL) -> Any:
    return pyspiel.load_game(NAMES[players], parameters)


def actions_of(state: TressetteState) -> list[int]:
    if state.is_chance_node():
        return [card for card, _ in state.chance_outcomes()]
    return list(state.legal_actions())


def random_play(game: Any, rng: random.Random) -> Iterator[TressetteState]:
    """Each state of a random game, clones of them."""
    state = game.new_initial_state()
    while not state.is_terminal():
        yield state.clone()
        state.apply_action(rng.choice(actions_of(state)))
    yield state


def all_states(state: TressetteState) -> Iterator[TressetteState]:
    yield state
    if not state.is_terminal():
        for action in actions_of(state):
            yield from all_states(state.child(action))


@pytest.mark.parametrize(("players", "parameters"), GAMES)
def test_openspiels_own_checks(players: int, parameters: dict[str, Any]) -> None:
    game = load(players, parameters)
    pyspiel.random_sim_test(game, 5, True, False)
    assert str(pyspiel.load_game(str(game))) == str(game)


@pytest.mark.parametrize(("players", "parameters"), GAMES)
def test_play_is_that_of_our_environment(players: int, parameters: dict[str, Any]) -> None:
    game = load(players, parameters)
    options = {"reward": "points", "napoletana": False, "hand_size": 10, "dealer": 1} | parameters
    dealer = options.pop("dealer")
    if "deck_cards" in options:
        options["deck_cards"] = [parse_card(text) for text in options["deck_cards"].split()]
    env = tressette_v0.env(players=players, episode="deal", **options)
    size = len(options.get("deck_cards", range(40)))
    for seed in range(5):
        *states, end = random_play(game, random.Random(seed))
        moves = list(zip(states, end.history(), strict=True))
        deck = [card for state, card in moves if state.is_chance_node()]
        assert sorted(deck) == sorted(options.get("deck_cards", range(40)))
        env.reset(seed=seed, options={"deck": deck, "dealer": dealer})
        total = np.zeros(players)
        for state, card in moves:
            if state.is_chance_node():
                continue
            seat = state.current_player()
            assert env.agent_selection == f"player_{seat}"
            assert state.legal_actions() == np.flatnonzero(env.action_masks()).tolist()
            assert state.returns() == [0] * players
            assert np.array_equal(state.observation_tensor(seat), env.observe(env.agent_selection)["observation"])
            env.step(card)
            total += list(env.rewards.values())
        assert len(moves) == 2 * size
        assert end.returns() == total.tolist()
        assert sum(end.returns()) == 0
        assert max(end.returns()) <= game.max_utility()


def test_every_deal_is_as_likely() -> None:
    """Each set of hands is reached in one way, each order of the stock too."""
    chances: Counter[str] = Counter()

    def walk(state: TressetteState, chance: float) -> None:
        if not state.is_chance_node():
            chances[state.information_state_string(0) + state.information_state_string(1)] += chance
            return
        outcomes = state.chance_outcomes()
        assert math.isclose(sum(share for _, share in outcomes), 1)
        for card, share in outcomes:
            walk(state.child(card), chance * share)

    walk(load().new_initial_state(), 1.0)
    assert len(chances) == math.comb(6, 2) * math.comb(4, 2)
    assert np.allclose(list(chances.values()), 1 / 90)


@pytest.mark.parametrize("napoletana", [False, True])
def test_information_states_are_what_a_seat_knows(napoletana: bool) -> None:
    """Over the whole tree: equal text for equal information, and other text for other information."""
    parameters = SMALL | {"napoletana": napoletana, "deck_cards": "Ad 2d 3d 5d Ac 4c", "hand_size": 2}
    texts: dict[tuple[int, bytes], str] = {}
    for state in all_states(load(2, parameters).new_initial_state()):
        if state.is_chance_node():
            continue
        for seat in range(2):
            text = state.information_state_string(seat)
            assert texts.setdefault((seat, state.information(seat).to_bytes()), text) == text
    assert len(set(texts.values())) == len(texts)


def test_text_while_a_card_is_drawn_tells_no_more_than_what_was_seen() -> None:
    state = load().new_initial_state()
    for card in [parse_card(text) for text in ("Ad", "4d", "3d", "4c", "Ad", "3d")]:  # the stock: Ac 3c
        state.apply_action(card)
    assert state.information_state_string(0) == "p0 4d | Ad 3d /1"
    assert [card for card, _ in state.chance_outcomes()] == [parse_card("Ac"), parse_card("3c")]
    state.apply_action(parse_card("3c"))
    assert state.is_chance_node()
    assert state.information_state_string(1) == "p1 3c 4c | Ad 3d /1 +3c"
    state.apply_action(parse_card("Ac"))
    assert state.information_state_string(0) == "p0 4d Ac | Ad 3d /1 +3c +Ac"
    assert state.current_player() == 1


@pytest.mark.parametrize(("players", "parameters"), GAMES)
def test_resampled_states_cannot_be_told_apart(players: int, parameters: dict[str, Any]) -> None:
    rng = random.Random(3)
    others = 0
    for state in random_play(load(players, parameters), rng):
        if state.is_chance_node():
            with pytest.raises(OptionError, match="dealt or drawn now"):
                state.resample_from_infostate(0, rng.random)
            continue
        for seat in range(players):
            other = state.resample_from_infostate(seat, rng.random)
            assert other.information_state_string(seat) == state.information_state_string(seat)
            assert other.information(seat) == state.information(seat)
            assert other.current_player() == state.current_player()
            # The same for those who look on: what they cannot tell apart either has the same text.
            for looker in range(players):
                same = other.information(looker) == state.information(looker)
                assert (other.information_state_string(looker) == state.information_state_string(looker)) == same
                others += not same
    assert others


def test_resampling_follows_the_sampler() -> None:
    state = next(state for state in random_play(load(2, {}), random.Random(1)) if not state.is_chance_node())
    texts = [state.resample_from_infostate(0, random.Random(seed).random).information_state_string(1) for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"hand_size": 25}, "hand_size=25"),
        ({"deck_cards": "Ad 3x"}, "'3x'"),
        ({"dealer": 2}, "dealer=2"),
        ({"reward": "x"}, "reward"),
    ],
)
def test_values_that_are_not_allowed_are_named(parameters: dict[str, Any], names: str) -> None:
    with pytest.raises(OptionError, match=names):
        load(2, parameters)


def test_import_without_openspiel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "settebello.openspiel")
    with pytest.raises(ImportError, match=r"pip install 'settebello\[openspiel\]'"):
        importlib.import_module("settebello.openspiel")


def test_a_process_that_registered_the_games_ends_well() -> None:
    script = f"import pyspiel, settebello.openspiel\npyspiel.load_game({NAMES[2]!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
