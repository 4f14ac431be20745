"""Two-player Tressette once the stock is empty, in batches: exact ends and best cards."""

import numpy as np
import pytest

from settebello import BatchEnv
from settebello.endings import settle_endings
from settebello.errors import OptionError
from settebello.opponents.endings import ending_action, ending_actions
from tests.reference.endings import EndingReference


def random_actions(batch: BatchEnv, rng: np.random.Generator) -> np.ndarray:
    return np.argmax(rng.random(batch.action_mask.shape) * batch.action_mask, axis=1)


@pytest.mark.parametrize("reward", ["points", "win"])
@pytest.mark.parametrize("options", [{}, {"napoletana": True}, {"deck_cards": [*range(8), *range(10, 18)], "hand_size": 4}])
def test_a_settled_deal_is_what_perfect_play_of_both_brings(reward: str, options: dict) -> None:
    batch = BatchEnv("tressette-2p", 32, seed=3, episode="deal", reward=reward, **options)
    played = BatchEnv("tressette-2p", 32, seed=3, episode="deal", reward=reward, **options)
    rng, settled = np.random.default_rng(0), 0
    gathered = np.zeros((32, 2), np.float32)
    for _ in range(60):
        actions = random_actions(batch, rng)
        states = [played.get_state(i) for i in range(32)]
        before = batch.observation.copy()
        rewards, done = batch.step(actions)
        settle_endings(batch)
        gathered += rewards
        for i in np.flatnonzero(done):
            # The same game, played on by the best cards of both.
            alone = BatchEnv("tressette-2p", 1, seed=0, episode="deal", reward=reward, **options)
            alone.set_state(0, states[i])
            reward_alone, over = alone.step(actions[i : i + 1])
            total = reward_alone.copy()
            while not over[0]:
                best = ending_actions(alone, np.arange(1))
                assert alone.action_mask[0, best[0]]
                reward_alone, over = alone.step(best)
                total += reward_alone
            assert rewards[i].tolist() == total[0].tolist()
            assert batch.final_score[i].tolist() == alone.final_score[0].tolist()
            settled += 1
        assert batch.observation.tolist() != before.tolist()
        assert (batch.action_mask.sum(axis=1) > 0).all()
        for i in range(32):
            played.set_state(i, batch.get_state(i))
    assert settled > 60
    np.testing.assert_array_equal(gathered[:, 0], -gathered[:, 1])


def test_ending_actions_are_best_by_brute_force() -> None:
    options = {"deck_cards": [*range(0, 6), *range(10, 16)], "hand_size": 3}
    batch = BatchEnv("tressette-2p", 64, seed=5, episode="deal", **options)
    rng, compared = np.random.default_rng(1), 0
    for _ in range(40):
        best = ending_actions(batch, np.arange(64))
        for i in range(64):
            snapshot = batch.information(i, int(batch.seat[i])).snapshot()
            assert (best[i] < 0) == (snapshot["stock"] != 0)
            assert ending_action(batch.information(i, int(batch.seat[i]))) == best[i]
            if best[i] < 0 or snapshot["trick"]:
                continue
            state = batch._states[i]
            hands = [[card for card in range(40) if int(state["hand"][seat]) >> card & 1] for seat in range(2)]
            seat, thirds = int(batch.seat[i]), tuple(int(t) for t in state["thirds"])
            results = EndingReference().results(hands, seat, None, thirds)
            leads = {card: points[seat] - points[1 - seat] for card, points in results.items()}
            assert leads[int(best[i])] == max(leads.values())
            compared += 1
        batch.step(random_actions(batch, rng))
    assert compared > 100


def test_other_games_are_refused() -> None:
    for batch in (BatchEnv("tressette-4p", 2), BatchEnv("tressette-2p", 2)):  # the second plays matches
        with pytest.raises(OptionError, match="settle_endings: expected"):
            settle_endings(batch)
    with pytest.raises(OptionError, match="ending_actions: expected games of 'tressette-2p', got 'bazzica'"):
        ending_actions(BatchEnv("bazzica", 2), np.arange(2))
    for rows in ([-1], [2], [0.7], [True, False]):
        with pytest.raises(OptionError, match=r"rows=.*: expected whole numbers from 0 to 1"):
            ending_actions(BatchEnv("tressette-2p", 2), np.array(rows))
    with pytest.raises(OptionError, match="ending_action: expected a game of 'tressette-2p', got 'bazzica'"):
        ending_action(BatchEnv("bazzica", 1).information(0, 0))
    waiting = BatchEnv("tressette-2p", 1)
    with pytest.raises(OptionError, match="not to move"):
        ending_action(waiting.information(0, 1 - int(waiting.seat[0])))
