"""What networks are shown: the hints of bazzica against slow rules, and nothing hidden; what play-outs say."""

import random

import numpy as np
import pytest

from settebello import BatchEnv
from settebello.errors import OptionError
from settebello.opponents.compiled import CompiledOpponent
from settebello.opponents.inputs import inputs_of
from settebello.opponents.playouts import playout_values
from tests.info_tools import GAME_IDS, make_env
from tests.reference.bazzica import captures


def taken_of(candidates: list[list[int]], function: object) -> set[int]:
    """What a measure of the cards that are taken may be, over the captures that the player may choose."""
    return {sum(map(function, cards)) for cards in candidates}  # type: ignore[arg-type]


def test_hints_by_the_slow_rules() -> None:
    inputs = inputs_of("bazzica")
    places = {name: slice(start, stop) for name, start, stop, *_ in inputs.spec()}
    rng, env, medium = random.Random(5), make_env("bazzica"), CompiledOpponent("bazzica", "medium", 0)
    compared = chosen = choices = 0
    estimated: set[int] = set()
    for seed in range(12):
        env.reset(seed=seed)
        for _ in range(60):
            seat = int(env.agent_selection[-1])
            information = env.information(seat)
            row, snapshot = inputs.of_information(information), information.snapshot()
            hints = {name: row[places[name]] for name in places}
            np.testing.assert_array_equal(row[: places["takes"].start], information.observation())
            action = medium.act(information)
            marked = np.concatenate([hints[f"medium_{part}"] for part in ("play", "pick", "option")])
            assert np.flatnonzero(marked).tolist() == [action]
            table = dict(map(tuple, snapshot["table"]))
            baptised = snapshot["baptised"]
            values = {card: baptised.get(card, card % 10 + 1) for card in range(40)}
            unseen = np.flatnonzero(hints["unseen"]).tolist()
            hand = snapshot["hands"][seat]
            if all(action < 40 for action in information.legal_actions()):
                assert hints["estimate"][action] == max(hints["estimate"][hand])  # what medium plays is what it thinks best
                estimated.update(hints["estimate"][hand].tolist())
            for card in range(40):
                found = {name: int(hints[name][card]) for name in ("takes", "takes_denari", "takes_sevens", "sweeps")}
                left = {name: int(hints[name][card]) for name in ("can_take", "can_sweep")}
                if card not in hand or snapshot["pending"] is not None:
                    assert not any(found.values()) and not any(left.values()) and not hints["estimate"][card]
                    continue
                sets = captures(table, values[card]) or [[]]
                choices += len(sets) > 1
                assert found["takes"] in taken_of(sets, lambda _: 1)
                assert found["takes_denari"] in taken_of(sets, lambda c: c < 10)
                assert found["takes_sevens"] in taken_of(sets, lambda c: c % 10 == 6)
                assert found["sweeps"] == (len(sets[0]) == len(table) > 0)
                afterwards = []
                for taken in sets:
                    rest = {c: v for c, v in table.items() if c not in taken} | ({} if taken else {card: values[card]})
                    takers = {v: captures(rest, v) for v in range(1, 11)}
                    able = [c for c in unseen if takers[c % 10 + 1]]
                    sweepers = [c for c in able if len(takers[c % 10 + 1][0]) == len(rest)]
                    afterwards.append({"can_take": len(able), "can_sweep": len(sweepers)})
                assert left in afterwards
                compared += 1
                chosen += bool(found["takes"])
            if env.terminations[env.agent_selection]:
                break
            env.step(rng.choice(information.legal_actions()))
    assert compared > 700
    assert chosen > 100
    assert choices > 20
    assert len(estimated) > 60
    assert min(estimated) < -10 < 10 < max(estimated)


@pytest.mark.parametrize("game", GAME_IDS)
def test_rows_of_a_batch_are_those_of_what_the_seat_knows(game: str) -> None:
    inputs, rng = inputs_of(game), np.random.default_rng(2)
    batch = BatchEnv(game, 24, seed=4)
    for _ in range(60):
        rows, whole = inputs.of_batch(batch), inputs.of_batch(batch, critic=True)
        low, high = inputs.bounds()
        assert ((rows >= low) & (rows <= high)).all()
        np.testing.assert_array_equal(whole[:, inputs.policy_part()], rows)
        np.testing.assert_array_equal(whole[:, : batch.state().shape[1]], batch.state())
        for i in range(24):  # what it knows, as a redacted record: nothing hidden is looked at
            np.testing.assert_array_equal(inputs.of_information(batch.information(i, int(batch.seat[i]))), rows[i])
        np.testing.assert_array_equal(inputs.of_batch(batch, np.array([5, 3])), rows[[5, 3]])
        batch.step(np.argmax(rng.random(batch.action_mask.shape) * batch.action_mask, axis=1))
    with pytest.raises(OptionError, match="rows="):
        inputs.of_batch(batch, np.array([24]))


def test_a_seat_that_is_not_to_move_gets_no_hints() -> None:
    env = make_env("bazzica")
    env.reset(seed=3)
    other = 1 - int(env.agent_selection[-1])
    inputs = inputs_of("bazzica")
    assert not inputs.of_information(env.information(other))[inputs.game.obs_size :].any()


@pytest.mark.parametrize("game", GAME_IDS)
def test_play_outs_are_games_played_on_by_medium(game: str) -> None:
    rng, batch = np.random.default_rng(1), BatchEnv(game, 6, seed=9, episode="deal", reward="points")
    for _ in range(5):
        values = playout_values(batch, np.arange(6), 3, horizon=6)
        assert (values[batch.action_mask == 0] == 0).all()
        for i in range(6):
            side, so_far = int(batch.seat[i]) % 2, batch.get_state(i)
            for action in np.flatnonzero(batch.action_mask[i]):
                alone, medium = BatchEnv(game, 1, seed=0, episode="deal", reward="points"), CompiledOpponent(game, "medium", 1)
                alone.set_state(0, so_far)
                _, done = alone.step(np.array([action]))
                while not done[0]:
                    _, done = alone.step(medium.act_batch(alone, np.arange(1)))
                assert values[i, action] == alone.final_score[0, side] - alone.final_score[0, 1 - side]
        np.testing.assert_array_equal(playout_values(batch, np.array([4, 2]), 3, horizon=6), values[[4, 2]])
        for _ in range(5):
            batch.step(np.argmax(rng.random(batch.action_mask.shape) * batch.action_mask, axis=1))
    with pytest.raises(OptionError, match="seed="):
        playout_values(batch, np.arange(6), -1)
    with pytest.raises(OptionError, match="horizon=0"):
        playout_values(batch, np.arange(6), 1, horizon=0)
