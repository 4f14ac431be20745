"""BatchEnv: its arrays, its seeds, and that each row plays the games of the PettingZoo environment."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from settebello import GAMES, BatchEnv
from settebello.aec import AECEnv
from settebello.errors import IllegalActionError, OptionError, StateError

GAME_IDS = tuple(GAMES)
ARRAYS = ("observation", "action_mask", "seat", "final_score")
SMALL_DECK = [*range(10), *range(20, 30)]
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((game, {"target": 5}) for game in GAME_IDS),
    *((game, {"episode": "deal", "reward": "points"}) for game in GAME_IDS),
    ("tressette-2p", {"napoletana": True, "reward": "points", "target": 12}),
    ("tressette-4p", {"napoletana": True, "reward": "points", "target": 12}),
    ("tressette-2p", {"deck_cards": SMALL_DECK, "hand_size": 6, "target": 3}),
    ("tressette-4p", {"deck_cards": SMALL_DECK, "hand_size": 5, "target": 3}),
    ("bazzica", {"low_sum_max": 20, "last_card_scopa": True, "declaration_points": {"pariglia": 4}, "target": 5}),
]


@pytest.fixture(params=GAME_IDS)
def game(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def random_actions(batch: BatchEnv, rng: np.random.Generator) -> Any:
    """A random legal action for each row."""
    return (batch.action_mask * rng.random(batch.action_mask.shape)).argmax(axis=1)


def first_legal(batch: BatchEnv) -> Any:
    return batch.action_mask.argmax(axis=1)


def shown(batch: BatchEnv) -> list[Any]:
    """Copies of all arrays, and all games as bytes."""
    return [getattr(batch, name).tolist() for name in ARRAYS] + [batch.get_state(i) for i in range(batch.num_envs)]


def row_of(batch: BatchEnv, i: int) -> list[Any]:
    """What a row shows."""
    return [batch.observation[i].tolist(), batch.action_mask[i].tolist(), int(batch.seat[i])]


def shown_by(env: AECEnv) -> list[Any]:
    """What the PettingZoo environment shows the seat to move."""
    observation, *_ = env.last()
    seat = env.possible_agents.index(env.agent_selection)
    return [observation["observation"].tolist(), observation["action_mask"].tolist(), seat]


# --- arrays ----------------------------------------------------------------------------------------------------------------


def test_arrays(game: str) -> None:
    """Shapes and dtypes, and the same objects before and after everything."""
    batch = BatchEnv(game, 6, seed=1)
    spec = GAMES[game]
    objects = {name: getattr(batch, name) for name in ARRAYS}
    assert (batch.game, batch.num_envs, batch.num_seats) == (game, 6, spec.num_seats)
    assert (batch.num_actions, batch.obs_size) == (spec.num_actions, spec.obs_size)
    assert batch.num_actions == (101 if game == "bazzica" else 40)
    assert (batch.observation.dtype, batch.observation.shape) == (np.int8, (6, batch.obs_size))
    assert (batch.action_mask.dtype, batch.action_mask.shape) == (np.int8, (6, batch.num_actions))
    assert (batch.seat.shape, batch.seat.dtype.kind) == ((6,), "i")
    assert batch.obs_spec() == spec.obs_spec()
    assert batch.obs_spec()[-1][2] == batch.obs_size
    assert batch.state_bytes == spec.dtype.itemsize <= 512
    reward, done = batch.step(first_legal(batch))
    assert (reward.dtype, reward.shape) == (np.float32, (6, 2))
    assert (done.dtype, done.shape) == (np.bool_, (6,))
    assert (batch.final_score.shape, batch.final_score.dtype.kind) == ((6, 2), "i")
    data = batch.get_state(0)
    for _ in range(200):
        again = batch.step(first_legal(batch))
        assert again[0] is reward
        assert again[1] is done
    batch.reset()
    batch.reset(seed=3)
    batch.set_state(2, data)
    assert all(getattr(batch, name) is array for name, array in objects.items())
    assert batch.step(first_legal(batch))[0] is reward


def test_masks_and_observations_are_in_bounds(game: str) -> None:
    batch = BatchEnv(game, 64, seed=1, target=5)
    low, high = GAMES[game].bounds()
    rng = np.random.default_rng(0)
    for _ in range(300):
        assert ((batch.action_mask == 0) | (batch.action_mask == 1)).all()
        assert batch.action_mask.any(axis=1).all()
        assert ((batch.observation >= low) & (batch.observation <= high)).all()
        assert ((batch.seat >= 0) & (batch.seat < batch.num_seats)).all()
        reward, _ = batch.step(random_actions(batch, rng))
        assert (reward.sum(axis=1) == 0).all()


# --- seeds -----------------------------------------------------------------------------------------------------------------


def test_seeds(game: str) -> None:
    """A whole number gives row i that number + i; a list gives each row its own; the default is 0."""
    batch = BatchEnv(game, 4, seed=10)
    start = shown(batch)
    for seed in ([10, 11, 12, 13], (10, 11, 12, 13), np.arange(10, 14), np.arange(10, 14, dtype=np.uint8), np.int32(10)):
        assert shown(BatchEnv(game, 4, seed=seed)) == start
        other = BatchEnv(game, 4, seed=99)
        other.reset(seed)
        assert shown(other)[:3] == start[:3]
    assert shown(BatchEnv(game, 3))[:3] == [rows[:3] for rows in shown(BatchEnv(game, 4, seed=[0, 1, 2, 3]))[:3]]
    mixed = BatchEnv(game, 4, seed=[13, 13, 10, 2**63 - 1])
    assert row_of(mixed, 0) == row_of(mixed, 1) == row_of(batch, 3)
    assert row_of(mixed, 2) == row_of(batch, 0)
    assert len({batch.get_state(i) for i in range(4)}) == 4


def test_seeds_at_the_end_of_their_range(game: str) -> None:
    """The last row's seed may be 2**63 - 1, which the PettingZoo environment takes too."""
    batch = BatchEnv(game, 3, seed=2**63 - 3)
    env = AECEnv(game)
    for i in range(3):
        env.reset(seed=2**63 - 3 + i)
        assert row_of(batch, i) == shown_by(env)
    with pytest.raises(OptionError, match=f"^seed={2**63 - 2}: "):
        BatchEnv(game, 3, seed=2**63 - 2)


def test_reset(game: str) -> None:
    """With a seed the games of that seed; without one each row's stream goes on, as in the PettingZoo environment."""
    batch = BatchEnv(game, 3, seed=5)
    env = AECEnv(game)
    rng = np.random.default_rng(0)
    for _ in range(50):
        batch.step(random_actions(batch, rng))
    batch.reset(seed=5)
    for i in range(3):
        env.reset(seed=5 + i)
        assert row_of(batch, i) == shown_by(env)
    batch.reset()
    batch.reset()
    for i in range(3):
        env.reset(seed=5 + i)
        env.reset()
        env.reset()
        assert row_of(batch, i) == shown_by(env)


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (-1, "^seed=-1: expected a whole number from 0 to "),
        (2**63, f"^seed={2**63}: "),
        (1.0, "^seed=1.0: "),
        (True, "^seed=True: "),
        ("1", "^seed='1': "),
        ([1, 2], "^seed: 2 seeds for 3 environments$"),
        ([], "^seed: 0 seeds for 3 environments$"),
        (np.arange(4), "^seed: 4 seeds for 3 environments$"),
        ([1, 2, -3], "^seed=-3: "),
        ([1, 2, 3.5], "^seed=.*3.5.*: "),
        ([1, 2, True], "^seed=True: "),
        (np.array([0.0, 1.0, 2.0]), "^seed="),
        (np.zeros((3, 1), np.int64), "seed"),
        ([[1], [2, 3], [4]], "seed"),
        (None, "^seed=None: "),
    ],
    ids=repr,
)
def test_bad_seeds(game: str, seed: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        BatchEnv(game, 3, seed=seed)
    if seed is None:
        return  # reset() without a seed goes on
    batch = BatchEnv(game, 3, seed=1)
    before = shown(batch)
    with pytest.raises(OptionError, match=message):
        batch.reset(seed)
    assert shown(batch) == before
    other = BatchEnv(game, 3, seed=1)
    batch.reset()
    other.reset()
    assert shown(batch) == shown(other)


# --- the games -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game_id", "options"), OPTIONS, ids=str)
def test_rows_play_the_games_of_the_pettingzoo_environment(game_id: str, options: dict[str, Any]) -> None:
    """Row by row and step by step: what is shown, reward, end, final score, and the next games without a seed."""
    seeds = [0, 1, 77, 2**40]
    batch = BatchEnv(game_id, len(seeds), seed=seeds, **options)
    envs = [AECEnv(game_id, **options) for _ in seeds]
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(400):
        actions = random_actions(batch, rng)
        reward, done = batch.step(actions)
        for i, env in enumerate(envs):
            env.step(int(actions[i]))
            rewards = list(env.rewards.values())
            assert reward[i].tolist() == rewards[:2]
            assert done[i] == env.terminations["player_0"]
            if done[i]:
                ends += 1
                assert batch.final_score[i].tolist() == env.snapshot()["score"]
                env.reset()
            assert row_of(batch, i) == shown_by(env)
    assert ends >= 8


def test_reward_is_of_this_step_only() -> None:
    """Napoletane are rewarded in the middle of a deal, the count at its end; nothing is carried on."""
    batch = BatchEnv("tressette-2p", 32, seed=0, napoletana=True, reward="points", target=100)
    rng = np.random.default_rng(0)
    rewarded = np.zeros(32, int)
    for step in range(1, 400):
        scores = [batch.information(i, 0).snapshot()["score"] for i in range(32)]
        reward, done = batch.step(random_actions(batch, rng))
        for i in range(32):
            score = batch.final_score[i].tolist() if done[i] else batch.information(i, 0).snapshot()["score"]
            gain = [now - before for now, before in zip(score, scores[i], strict=True)]
            assert reward[i].tolist() == [gain[0] - gain[1], gain[1] - gain[0]]
            rewarded[i] += step % 40 != 0 and reward[i, 0] != 0
    assert rewarded.sum() > 10


@pytest.mark.parametrize("num_envs", [1, 4096])
def test_numbers_of_rows(game: str, num_envs: int) -> None:
    """A row plays the same whatever the number of rows."""
    few = BatchEnv(game, 3, seed=[0, num_envs // 2, num_envs - 1], target=3)
    many = BatchEnv(game, num_envs, target=3)
    rows = [0, num_envs // 2, num_envs - 1]
    for _ in range(250):
        assert [row_of(many, row) for row in rows] == [row_of(few, i) for i in range(3)]
        actions = first_legal(many)
        assert actions[rows].tolist() == first_legal(few).tolist()
        reward, done = many.step(actions)
        expected_reward, expected_done = few.step(first_legal(few))
        np.testing.assert_array_equal(reward[rows], expected_reward)
        np.testing.assert_array_equal(done[rows], expected_done)


# --- actions ---------------------------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[Any], Any]] = {
    **{
        kind: lambda actions, kind=kind: actions.astype(kind)
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4")
    },  # type: ignore[misc]
    "list": lambda actions: actions.tolist(),
    "tuple": lambda actions: tuple(actions.tolist()),
    "list of NumPy integers": lambda actions: [np.int16(action) for action in actions],
    "every second one": lambda actions: np.repeat(actions, 2)[::2],
    "read-only": lambda actions: np.frombuffer(actions.tobytes(), actions.dtype),
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_integers_are_actions(game: str, kind: str) -> None:
    batch, other = BatchEnv(game, 5, seed=2), BatchEnv(game, 5, seed=2)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = random_actions(batch, rng)
        batch.step(KINDS[kind](actions))
        other.step(actions)
    assert shown(batch) == shown(other)


BAD_ACTIONS: list[tuple[Any, str]] = [
    (np.zeros(3), r"^actions of dtype float64: expected integers$"),
    (np.zeros(3, np.float32), r"^actions of dtype float32: expected integers$"),
    (np.zeros(3, np.bool_), r"^actions of dtype bool: expected integers$"),
    ([True, False, True], r"^actions of dtype bool: expected integers$"),
    ([0.0, 1.0, 2.0], r"^actions of dtype float64: expected integers$"),
    (np.zeros(3, object), r"^actions of dtype object: expected integers$"),
    (["0", "1", "2"], r"^actions of dtype <U1: expected integers$"),
    (None, r"^actions of dtype object: expected integers$"),
    ([], r"^actions of dtype float64: expected integers$"),
    (np.zeros(0, np.int64), r"^actions of shape \(0,\): expected \(3,\)$"),
    (np.zeros(2, np.int64), r"^actions of shape \(2,\): expected \(3,\)$"),
    ([0, 0, 0, 0], r"^actions of shape \(4,\): expected \(3,\)$"),
    (np.zeros((3, 1), np.int64), r"^actions of shape \(3, 1\): expected \(3,\)$"),
    (np.zeros((1, 3), np.int64), r"^actions of shape \(1, 3\): expected \(3,\)$"),
    (0, r"^actions of shape \(\): expected \(3,\)$"),
    ([[0], [0, 0], [0]], r"^actions"),
]


@pytest.mark.parametrize(("actions", "message"), BAD_ACTIONS, ids=[repr(actions) for actions, _ in BAD_ACTIONS])
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_bad_actions_move_nothing(game: str, illegal: str, actions: Any, message: str) -> None:
    batch = BatchEnv(game, 3, seed=1, illegal=illegal)
    batch.step(first_legal(batch))
    before = shown(batch)
    with pytest.raises(OptionError, match=message):
        batch.step(actions)
    assert shown(batch) == before


HUGE = [-1, -(2**63), 2**63 - 1]


def test_illegal_action_moves_nothing_in_any_row(game: str) -> None:
    batch = BatchEnv(game, 5, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(40):
        legal = random_actions(batch, rng)
        before = shown(batch)
        for row in range(5):
            outside = np.flatnonzero(batch.action_mask[row] == 0)
            for illegal in (int(rng.choice(outside)), batch.num_actions, *HUGE):
                actions = legal.copy()
                actions[row] = illegal
                message = (
                    rf"^environment {row}: illegal action {illegal} \(.*\) by player_{batch.seat[row]}, who holds .*; legal: "
                )
                with pytest.raises(IllegalActionError, match=message) as raised:
                    batch.step(actions)
                listed = re.findall(r"(\d+) \(", str(raised.value).split("legal: ")[1])
                assert listed == [str(action) for action in np.flatnonzero(batch.action_mask[row])]
        two = legal.copy()
        two[[1, 3]] = batch.num_actions
        with pytest.raises(IllegalActionError, match=r"^environment 1: "):  # the first one is named
            batch.step(two)
        assert shown(batch) == before
        batch.step(legal)


@pytest.mark.parametrize("illegal", ["raise", "terminate"])
@pytest.mark.parametrize("huge", [2**63, 2**64 - 1, 2**64 - 2**63])
def test_huge_unsigned_actions_are_illegal(game: str, huge: int, illegal: str) -> None:
    batch = BatchEnv(game, 2, seed=1, illegal=illegal)
    actions = first_legal(batch).astype(np.uint64)
    actions[1] = huge
    if illegal == "raise":
        with pytest.raises(IllegalActionError, match=r"^environment 1: illegal action "):
            batch.step(actions)
    else:
        assert batch.step(actions)[1].tolist() == [False, True]


@pytest.mark.parametrize("reward", ["win", "points"])
def test_illegal_action_ends_its_own_row(game: str, reward: str) -> None:
    """The offender's side gets -1 or -target, the other nothing; the row goes on to the game that follows without a seed."""
    options: dict[str, Any] = {"reward": reward, "target": 30, "illegal": "terminate"}
    rng = np.random.default_rng(0)
    batch, untouched = BatchEnv(game, 4, seed=20, **options), BatchEnv(game, 4, seed=20, **options)
    envs = [AECEnv(game, **options) for _ in range(4)]
    for i, env in enumerate(envs):
        env.reset(seed=20 + i)
    sides = set()
    for step in range(120):
        actions = random_actions(batch, rng)
        legal = actions.copy()
        offending = step % 4 if step % 3 == 0 else None
        if offending is not None:
            outside = [*np.flatnonzero(batch.action_mask[offending] == 0).tolist(), -1, batch.num_actions, *HUGE]
            actions[offending] = outside[int(rng.integers(len(outside)))]
        seats = batch.seat.copy()
        scores = [batch.information(i, 0).snapshot()["score"] for i in range(4)]
        for i in range(4):
            untouched.set_state(i, batch.get_state(i))
        rewards, done = batch.step(actions)
        others, _ = untouched.step(legal)
        for i, env in enumerate(envs):
            env.step(int(actions[i]))
            if i == offending:
                side = int(seats[i]) % 2
                sides.add(side)
                loss = -1 if reward == "win" else -30
                assert rewards[i].tolist() == [loss if k == side else 0 for k in range(2)]
                assert done[i]
                assert batch.final_score[i].tolist() == scores[i]
                assert env.rewards[f"player_{seats[i]}"] == loss
            else:
                assert rewards[i].tolist() == others[i].tolist()
                assert row_of(batch, i) == row_of(untouched, i)
            assert done[i] == env.terminations["player_0"]
            if done[i]:
                env.reset()
            assert row_of(batch, i) == shown_by(env)
    assert sides == {0, 1}


# --- states ----------------------------------------------------------------------------------------------------------------


def test_saved_rows(game: str) -> None:
    """A row's bytes are those of the PettingZoo environment, go into any row, and play on the same."""
    batch = BatchEnv(game, 3, seed=4)
    rng = np.random.default_rng(0)
    env = AECEnv(game)
    env.reset(seed=5)
    for _ in range(47):
        actions = random_actions(batch, rng)
        env.step(int(actions[1]))
        batch.step(actions)
    data = batch.get_state(1)
    assert data == env.get_state()
    batch.set_state(0, data)
    assert row_of(batch, 0) == row_of(batch, 1) == shown_by(env)
    assert batch.get_state(0) == data
    other = AECEnv(game)
    other.set_state(batch.get_state(2))
    assert row_of(batch, 2) == shown_by(other)
    for _ in range(300):
        actions = random_actions(batch, rng)
        actions[0] = actions[1]
        reward, done = batch.step(actions)
        assert row_of(batch, 0) == row_of(batch, 1)
        assert reward[0].tolist() == reward[1].tolist()
        assert done[0] == done[1]


def test_information_of_a_row(game: str) -> None:
    batch = BatchEnv(game, 3, seed=4)
    rng = np.random.default_rng(0)
    for _ in range(30):
        batch.step(random_actions(batch, rng))
        for i in range(3):
            env = AECEnv(game)
            env.set_state(batch.get_state(i))
            for seat in range(batch.num_seats):
                information = batch.information(i, seat)
                assert information == env.information(seat)
                assert (information.game, information.seat) == (game, seat)
                if seat == batch.seat[i]:
                    np.testing.assert_array_equal(information.observation(), batch.observation[i])
                    np.testing.assert_array_equal(information.action_mask(), batch.action_mask[i])
                else:
                    assert information.legal_actions() == []


def test_information_does_not_follow_the_game(game: str) -> None:
    batch = BatchEnv(game, 1, seed=4)
    information = batch.information(0, 0)
    before = information.to_bytes()
    for _ in range(30):
        batch.step(first_legal(batch))
    assert information.to_bytes() == before


@pytest.mark.parametrize("row", [-1, 3, 1.0, True, "0", None])
def test_rows_that_are_not_there(game: str, row: Any) -> None:
    batch = BatchEnv(game, 3)
    message = rf"^i={row!r}: expected a whole number from 0 to 2$"
    with pytest.raises(OptionError, match=message):
        batch.get_state(row)
    with pytest.raises(OptionError, match=message):
        batch.set_state(row, batch.get_state(0))
    with pytest.raises(OptionError, match=message):
        batch.information(row, 0)


@pytest.mark.parametrize("seat", [-1, 4, 0.0, None])
def test_seats_that_are_not_there(game: str, seat: Any) -> None:
    with pytest.raises(OptionError, match=rf"^seat={seat!r}: expected a whole number from 0 to "):
        BatchEnv(game, 3).information(0, seat)


def test_states_that_a_batch_cannot_play_on(game: str) -> None:
    """A game that is over, and one with decks given for later deals."""
    batch, env = BatchEnv(game, 2, episode="deal"), AECEnv(game, episode="deal")
    before = shown(batch)
    env.reset(seed=0)
    while not env.terminations["player_0"]:
        env.step(int(env.action_masks().argmax()))
    with pytest.raises(StateError, match="a game that is over cannot be played on in a BatchEnv"):
        batch.set_state(1, env.get_state())
    env.reset(seed=0, options={"deck": [list(range(40)), list(range(40))]})
    with pytest.raises(StateError, match="a game with decks given for later deals cannot be played on in a BatchEnv"):
        batch.set_state(1, env.get_state())
    assert shown(batch) == before
    env.reset(seed=0, options={"deck": [list(range(40))]})
    batch.set_state(1, env.get_state())
    assert row_of(batch, 1) == shown_by(env)


def test_state(game: str) -> None:
    """For a centralised critic: each row as the PettingZoo environment gives it, in the same array each time."""
    batch = BatchEnv(game, 4, seed=3)
    rows = batch.state()
    assert (rows.dtype, rows.shape) == (np.int8, (4, GAMES[game].state_size))
    assert batch.state_spec() == GAMES[game].obs_spec(state=True)
    assert batch.state_spec()[-1][2] == rows.shape[1]
    rng = np.random.default_rng(0)
    for _ in range(90):
        batch.step(random_actions(batch, rng))
        assert batch.state() is rows
        np.testing.assert_array_equal(rows[:, : batch.obs_size], batch.observation)
        for i in range(4):
            env = AECEnv(game)
            env.set_state(batch.get_state(i))
            np.testing.assert_array_equal(rows[i], env.state())


@pytest.mark.parametrize("how", [copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))], ids=["deepcopy", "pickle"])
def test_copies_go_on_identically(game: str, how: Callable[[BatchEnv], BatchEnv]) -> None:
    batch = BatchEnv(game, 3, seed=4, target=5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        batch.step(random_actions(batch, rng))
    other = how(batch)
    before = shown(batch)
    assert shown(other) == before
    other.step(random_actions(other, rng))
    assert shown(batch) == before
    other = how(batch)
    for _ in range(200):
        actions = random_actions(batch, rng)
        reward, done = batch.step(actions)
        other_reward, other_done = other.step(actions)
        assert shown(other) == shown(batch)
        assert other_reward.tolist() == reward.tolist()
        assert other_done.tolist() == done.tolist()
        np.testing.assert_array_equal(other.state(), batch.state())
