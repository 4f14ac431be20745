"""Exact exploitability: against published values, against OpenSpiel's own, and the exact solver against the tree."""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not here: pip install 'settebello[openspiel]'")
pytest.importorskip("torch", reason="the training is not installed: pip install 'settebello[train]'")

from open_spiel.python.algorithms import cfr, exploitability  # noqa: E402
from open_spiel.python.policy import Policy  # noqa: E402

from settebello.tressette.solver import solve  # noqa: E402
from settebello_training import exact  # noqa: E402
from settebello_training.cli import main  # noqa: E402
from settebello_training.errors import TrainingError  # noqa: E402
from settebello_training.exact import SmallDeck, load_game, most_probable, network_policies, uniform_policies  # noqa: E402
from settebello_training.sequences import SequenceGame, Vector, cfr_plus, sequence_form  # noqa: E402
from settebello_training.trainer import Trainer  # noqa: E402

TINY = SmallDeck("tiny", "Ad 2d 3d Ac 2c 3c", 2, 25_000)
TINY_SETTINGS = {"num_envs": 16, "minibatch": 160, "hidden": [64], "threads": 1}

Policies = tuple[Vector, Vector]


@pytest.fixture(scope="module")
def game() -> SequenceGame:
    return exact.solve_tree(TINY)


def random_policies(game: SequenceGame, seed: int) -> Policies:
    rng = np.random.default_rng(seed)
    first, second = (player.normalised(rng.exponential(size=len(player.action))) for player in game.players)
    return first, second


@pytest.mark.parametrize(("name", "uniform", "value"), [("kuhn_poker", 11 / 24, -1 / 18), ("leduc_poker", 2.373611, -0.0856)])
def test_known_games(name: str, uniform: float, value: float) -> None:
    """Exploitability of uniform play as OpenSpiel's documentation has it, and the values known from the literature."""
    game = sequence_form(pyspiel.load_game(name), lambda state, player: 0)
    assert game.exploitability(uniform_policies(game)) == pytest.approx(uniform, abs=1e-6)
    policies = next(itertools.islice(cfr_plus(game), 300, None))
    assert game.value(policies) == pytest.approx(value, abs=5e-4)
    assert 0 <= game.exploitability(policies) < 3e-3


def test_exploitability_is_openspiels(game: SequenceGame) -> None:
    policies = random_policies(game, 1)
    chances: dict[str, dict[int, float]] = {}
    for player, policy in zip(game.players, policies, strict=True):
        for number in range(1, len(policy)):
            chances.setdefault(player.names[player.state[number]], {})[int(player.action[number])] = policy[number]

    class Chances(Policy):  # type: ignore[misc]
        def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
            actions = state.legal_actions()
            return chances[state.information_state_string()] if len(actions) > 1 else {actions[0]: 1.0}

    openspiel_game = load_game(TINY)
    theirs = exploitability.exploitability(openspiel_game, Chances(openspiel_game, [0, 1]))
    assert game.exploitability(policies) == pytest.approx(theirs, abs=1e-12)


def test_cfr_plus_is_openspiels() -> None:
    """On Kuhn poker: equal policies after each iteration. (Where regrets are level, rounding decides; not there.)"""
    openspiel_game = pyspiel.load_game("kuhn_poker")
    game = sequence_form(openspiel_game, lambda state, player: 0)
    solver = cfr.CFRPlusSolver(openspiel_game)
    for policies in itertools.islice(cfr_plus(game), 10):
        solver.evaluate_and_update_policy()
        theirs = solver.average_policy()
        for player, policy in zip(game.players, policies, strict=True):
            for number in range(1, len(policy)):
                chances = theirs.policy_for_key(player.names[player.state[number]])
                assert policy[number] == pytest.approx(chances[player.action[number]], abs=1e-12)


def test_values_of_policies_are_means_over_plays(game: SequenceGame) -> None:
    """A plan's value is what the regrets and the best answer are made of."""
    policies = random_policies(game, 3)
    for k, player in enumerate(game.players):
        gain = game.gain(k, game.players[1 - k].plan(policies[1 - k]))
        own = game.value(policies) if k == 0 else -game.value(policies)
        assert player.plan(policies[k]) @ gain == pytest.approx(own)
        assert player.best(gain) > own
        assert player.plan(policies[k]) @ player.regret(gain, policies[k]) == pytest.approx(0, abs=1e-12)


def test_a_text_that_forgets_is_refused() -> None:
    class Forgetful:
        """Kuhn poker whose information states are what is observed now, the own card only."""

        def __init__(self, state: Any) -> None:
            self._state = state

        def __getattr__(self, name: str) -> Any:
            return getattr(self._state, name)

        def child(self, action: int) -> "Forgetful":
            return Forgetful(self._state.child(action))

        def information_state_string(self, player: int) -> str:
            return str(self._state.information_state_string(player)[0])

        def new_initial_state(self) -> "Forgetful":
            return self

    with pytest.raises(TrainingError, match="no perfect recall"):
        sequence_form(Forgetful(pyspiel.load_game("kuhn_poker").new_initial_state()), lambda state, player: 0)


def open_positions(state: Any) -> Iterator[Any]:
    """Positions of the tree with an empty stock, the first of each line of play."""
    if state.is_chance_node() or not state.is_terminal():
        if not state.is_chance_node() and state.information(0).snapshot()["stock"] == 0:
            yield state
            return
        for action in state.legal_actions():
            yield from open_positions(state.child(action))


def best_return(state: Any) -> float:
    """What seat 0 gets when both play perfectly, all cards open, by trying everything."""
    if state.is_terminal():
        return float(state.returns()[0])
    results = [best_return(state.child(action)) for action in state.legal_actions()]
    return max(results) if state.current_player() == 0 else min(results)


@pytest.mark.parametrize(("cards", "hand_size", "every"), [(TINY.cards, 2, 3), ("Ad 2d 3d 4d Ac Rc 3c 4c", 3, 97)])
def test_exact_solver_agrees_where_the_game_is_open(cards: str, hand_size: int, every: int) -> None:
    """Open positions of the whole tree, at every move to the end."""
    seen = 0
    positions = open_positions(load_game(SmallDeck("", cards, hand_size, 0)).new_initial_state())
    for state in itertools.islice(positions, 0, None, every):
        while not state.is_terminal():
            worlds = [state.information(seat).snapshot() for seat in range(2)]
            hands = [worlds[seat]["hands"][seat] for seat in range(2)]
            trick = worlds[0]["trick"]
            leader = trick[0][0] if trick else state.current_player()
            thirds = [
                sum(3 if card % 10 == 0 else int(card % 10 in (1, 2, 7, 8, 9)) for card in taken)
                for taken in worlds[0]["taken"]
            ]
            ending = solve(hands, leader, led_card=trick[0][1] if trick else None, thirds=thirds)
            own, other = ending.points
            assert own - other == best_return(state)
            for card in state.legal_actions():
                assert (best_return(state.child(card)) == own - other) == (card in ending.best)
            state.apply_action(state.legal_actions()[-1])
            seen += 1
    assert seen > 300


def test_network_policy_is_what_the_network_plays(game: SequenceGame) -> None:
    """The rows are those of the training, and the probabilities those of the network in play."""
    trainer = Trainer(exact.training_config(TINY, TINY_SETTINGS))
    rows = {row[:-1].tobytes() for player in game.players for row in player.rows}
    policies = network_policies(game, trainer.network, exact_endings=True)
    for player, policy in zip(game.players, policies, strict=True):
        sums = np.bincount(player.state[1:], policy[1:])
        assert np.allclose(sums, 1)
    met = 0
    for _ in range(30):
        chosen = trainer.env.action_mask.argmax(axis=1)
        several = trainer.env.action_mask.sum(axis=1) > 1
        for row in trainer.env.observation[several]:
            assert row.tobytes() in rows  # whoever deals: seats are relative
            met += 1
        trainer.env.step(chosen)
    assert met > 20


def test_most_probable_plays_one_card(game: SequenceGame) -> None:
    for player, policy, pure in zip(
        game.players, random_policies(game, 4), most_probable(game, random_policies(game, 4)), strict=True
    ):
        for level in player.levels:
            chances = np.split(policy[level.sequences], level.starts[1:])
            picked = np.split(pure[level.sequences], level.starts[1:])
            assert all(one.sum() == 1 and one.argmax() == chance.argmax() for one, chance in zip(picked, chances, strict=True))


def test_command_leaves_result_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exact, "ITERATIONS", (1, 5))
    monkeypatch.setattr("settebello_training.cli.DECKS", (TINY,))
    settings = [f"--set={name}={json.dumps(value)}" for name, value in TINY_SETTINGS.items()]
    with pytest.raises(SystemExit) as ended:
        main(["exact", "--out", str(tmp_path), *settings])
    assert ended.value.code == 1  # so little training is not enough, and the command says so
    printed = capsys.readouterr()
    assert "stays above 5%" in printed.err and "tiny" in printed.err
    result = json.loads((tmp_path / exact.RESULT).read_text(encoding="utf-8"))
    (deck,) = result["decks"]
    assert deck["uniform"] > 0
    assert [point["iterations"] for point in deck["cfr_plus"]] == [1, 5]
    assert deck["cfr_plus"][0]["exploitability"] > deck["cfr_plus"][1]["exploitability"]
    assert deck["self_play"][0]["exploitability"] == pytest.approx(
        deck["uniform"], rel=0.02
    )  # the first network is near uniform
    assert deck["self_play"][-1]["decisions"] >= TINY.decisions
    assert deck["self_play"][-1]["exploitability"] < 0.85 * deck["uniform"]
    assert (tmp_path / exact.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_command_refuses_what_it_cannot_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["exact", "--deck", "9"])
    assert "deck=9: expected a number from 1 to 3" in capsys.readouterr().err
    for setting, words in (
        ("minutes=1", "setting 'minutes': is the same for every small deck"),
        ("options.deck_cards=Ad 2d", "setting 'options.deck_cards': is the same for every small deck"),
        ("decisions=null", "decisions=None: expected a number"),
    ):
        with pytest.raises(SystemExit):
            main(["exact", "--deck", "1", "--set", setting, "--out", str(tmp_path)])
        assert words in capsys.readouterr().err
    assert exact.training_config(TINY, {"options": {"napoletana": True}}).options["hand_size"] == TINY.hand_size
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit):
        main(["exact", "--deck", "1", "--out", str(tmp_path / "file")])
    assert f"out={tmp_path / 'file'}: cannot be written" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(SystemExit):
        main(["exact", "--deck", "1", "--out", str(tmp_path)])
    assert "pip install 'settebello[openspiel]'" in capsys.readouterr().err
