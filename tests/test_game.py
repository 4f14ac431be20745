"""The registry of games, and what checkpoints know of a game."""

import dataclasses
import random

import numpy as np
import pytest

from settebello import GAMES
from settebello.errors import OptionError
from settebello.game import get_game
from settebello.opponents.inputs import Inputs, inputs_of
from tests.engine import make_env


def test_ids_agents_and_names() -> None:
    assert list(GAMES) == ["tressette-2p", "tressette-4p", "bazzica"]
    for game in GAMES.values():
        assert game.agents == [f"player_{seat}" for seat in range(game.num_seats)]
        assert get_game(game.id) is game
    with pytest.raises(OptionError, match=r"unknown game 'tressette_2p'; did you mean 'tressette-2p'\?"):
        get_game("tressette_2p")


def test_spec_hash_is_of_layout_bounds_and_version_not_of_the_wording() -> None:
    game, hints = GAMES["bazzica"], inputs_of("bazzica").hints
    first, second, *rest = game.fields
    variants = {
        "reworded": dataclasses.replace(game, fields=(first._replace(meaning="other words"), second, *rest)),
        "moved": dataclasses.replace(game, fields=(second, first, *rest)),
        "bounded": dataclasses.replace(game, fields=(first._replace(high=2), second, *rest)),
        "newer": dataclasses.replace(game, version=1),
    }
    hashes = {name: Inputs(variant, hints).spec_hash() for name, variant in variants.items()}
    hashes |= {"without hints": Inputs(game, ()).spec_hash()}
    own = {id: inputs_of(id).spec_hash() for id in GAMES}
    assert hashes.pop("reworded") == own["bazzica"]
    assert len({*hashes.values(), *own.values()}) == 7


@pytest.mark.parametrize("game", GAMES)
def test_exchanging_equal_suits_exchanges_their_elements_and_actions(game: str) -> None:
    of = GAMES[game]
    observed, whole = of.suit_layout(of.fields), of.suit_layout(of.fields + of.state_fields)
    acted = of.action_suits()
    for layout, size in ((observed, of.obs_size), (whole, of.state_size), (acted, of.num_actions)):
        everything = np.concatenate([layout.by_suit.ravel(), layout.rest])
        assert sorted(everything.tolist()) == list(range(size))
    rng = random.Random(game)
    options = {} if game == "bazzica" else {"napoletana": True}
    moved = 0
    for _ in range(20):
        places = rng.sample(range(len(of.equal_suits)), len(of.equal_suits))
        suit_to = list(range(4))
        for place, suit in zip(places, of.equal_suits, strict=True):
            suit_to[suit] = of.equal_suits[place]
        deck = rng.sample(range(40), 40)
        first, second = make_env(game, options), make_env(game, options)
        first.reset(seed=1, options={"deck": deck, "dealer": 0})
        second.reset(seed=1, options={"deck": [suit_to[card // 10] * 10 + card % 10 for card in deck], "dealer": 0})
        exchanged = [np.arange(size) for size in (of.obs_size, of.state_size, of.num_actions)]
        for layout, order in zip((observed, whole, acted), exchanged, strict=True):
            order[layout.by_suit] = layout.by_suit[places]  # where an element or an action is then
        for _ in range(30):
            agent = first.agent_selection
            assert second.agent_selection == agent
            for env_agent in first.agents:
                ours, theirs = first.observe(env_agent)["observation"], second.observe(env_agent)["observation"]
                assert theirs[exchanged[0]].tolist() == ours.tolist()
            assert second.state()[exchanged[1]].tolist() == first.state().tolist()
            assert second.action_masks()[exchanged[2]].tolist() == first.action_masks().tolist()
            action = rng.choice(np.flatnonzero(first.action_masks()).tolist())
            first.step(action)
            second.step(int(exchanged[2][action]))
            moved += 1
            if first.snapshot()["last_deal"]:
                break
    assert moved > 300
