"""The registry of games, and what checkpoints know of a game."""

import dataclasses

import pytest

from settebello import GAMES
from settebello.errors import OptionError
from settebello.game import get_game


def test_ids_agents_and_names() -> None:
    assert list(GAMES) == ["tressette-2p", "tressette-4p", "bazzica"]
    for game in GAMES.values():
        assert game.agents == [f"player_{seat}" for seat in range(game.num_seats)]
        assert get_game(game.id) is game
    with pytest.raises(OptionError, match=r"unknown game 'tressette_2p'; did you mean 'tressette-2p'\?"):
        get_game("tressette_2p")


def test_spec_hash_is_of_layout_bounds_and_version_not_of_the_wording() -> None:
    game = GAMES["bazzica"]
    first, second, *rest = game.fields
    variants = {
        "reworded": dataclasses.replace(game, fields=(first._replace(meaning="other words"), second, *rest)),
        "moved": dataclasses.replace(game, fields=(second, first, *rest)),
        "bounded": dataclasses.replace(game, fields=(first._replace(high=2), second, *rest)),
        "newer": dataclasses.replace(game, version=1),
    }
    hashes = {name: variant.spec_hash() for name, variant in variants.items()}
    assert hashes.pop("reworded") == game.spec_hash()
    assert len({game.spec_hash(), *hashes.values(), *(other.spec_hash() for other in GAMES.values())}) == 6
