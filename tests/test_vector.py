"""The native Gymnasium vector environment, beside SyncVectorEnv of the single one."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from settebello.errors import GameOverError, IllegalActionError, NotResetError, OptionError
from settebello.game import get_game
from settebello.opponents import load
from settebello.vector import LearnerVectorEnv

pytestmark = pytest.mark.border

IDS = {
    "tressette-2p": "settebello/Tressette2p-v0",
    "tressette-4p": "settebello/Tressette4p-v0",
    "bazzica": "settebello/Bazzica-v0",
}
GAMES = tuple(IDS)
MODES = tuple(AutoresetMode)
N = 5


def make(game: str, num_envs: int = N, **options: Any) -> LearnerVectorEnv:
    env = gymnasium.make_vec(IDS[game], num_envs=num_envs, vectorization_mode="vector_entry_point", **options)
    assert isinstance(env, LearnerVectorEnv)
    return env


def make_sync(game: str, mode: AutoresetMode, **options: Any) -> Any:
    return gymnasium.make_vec(
        IDS[game], num_envs=N, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )


def check_same(left: Any, right: Any) -> None:
    """Fail unless two nested results are equal in value, shape and dtype."""
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            check_same(left[key], right[key])
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            check_same(a, b)
    elif isinstance(left, np.ndarray) and left.dtype == object:
        check_same(list(left), list(right))
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert np.array_equal(left, right)
    else:
        assert left == right


def draw(masks: Any, rng: np.random.Generator, illegal: float = 0.0) -> Any:
    """An action for each row: legal, but for a share of them that is any at all."""
    actions = np.argmax(masks * rng.random(masks.shape), axis=1)
    return np.where(rng.random(len(actions)) < illegal, rng.integers(-2, 130, len(actions)), actions)


def frozen(env: LearnerVectorEnv) -> Any:
    """All that can be seen of an environment."""
    return [env.snapshot(i) for i in range(env.num_envs)], env.seats.tolist(), env.action_masks().tolist()


class Highest:
    """Plays the highest legal action, one row at a time."""

    def __init__(self) -> None:
        self.fail = False

    def act(self, information: Any) -> int:
        if self.fail:
            raise RuntimeError("no idea")
        action: int = information.legal_actions()[-1]
        return action


class HighestBatch(Highest):
    """The same for many rows at once, from what the batch shows."""

    def __init__(self) -> None:
        super().__init__()
        self.change: Callable[[Any], Any] = lambda actions: actions
        self.sizes: set[int] = set()

    def act_batch(self, batch: Any, rows: Any) -> Any:
        if self.fail:
            raise RuntimeError("no idea")
        self.sizes.add(len(rows))
        for row in rows.tolist():
            information = batch.information(row, int(batch.seat[row]))
            assert np.array_equal(information.observation(), batch.observation[row])
            assert np.array_equal(information.action_mask(), batch.action_mask[row])
        masks = batch.action_mask[rows]
        return self.change(masks.shape[1] - 1 - np.argmax(masks[:, ::-1], axis=1))


def compare(game: str, mode: AutoresetMode, steps: int = 140, illegal: float = 0.01, start: Any = None, **options: Any) -> None:
    """Step native and sync environment side by side."""
    native, sync = make(game, autoreset_mode=mode, **options), make_sync(game, mode, **options)
    assert native.single_observation_space == sync.single_observation_space
    assert native.observation_space == sync.observation_space
    assert native.action_space == sync.action_space
    rng = np.random.default_rng(1)
    results = [env.reset(seed=40, options=copy.deepcopy(start)) for env in (native, sync)]
    check_same(*results)
    ends = 0
    for step in range(steps):
        masks = results[0][-1]["action_mask"]
        live = masks if mode != AutoresetMode.DISABLED else native.action_masks()
        actions = draw(live, rng, illegal)
        results = [env.step(actions) for env in (native, sync)]
        check_same(*results)
        assert results[0][0] in native.observation_space
        ended = results[0][2]
        ends += int(ended.sum())
        if mode == AutoresetMode.DISABLED and ended.any():
            chosen: dict[str, Any] = {"reset_mask": ended.copy()}
            if step % 2 and start:
                chosen.update(start)
            seed = None if step % 3 else 1000 * step
            results = [env.reset(seed=seed, options=copy.deepcopy(chosen)) for env in (native, sync)]
            check_same(*results)
        if step == steps // 2:
            seeds = [None, 3, 0, None, 2**63 - 1]
            results = [env.reset(seed=seeds) for env in (native, sync)]
            check_same(*results)
    assert ends > 3


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mask_in", ["obs", "info"])
def test_agrees_with_sync(game: str, mode: AutoresetMode, mask_in: str) -> None:
    options: dict[str, Any] = {} if game == "bazzica" else {"napoletana": True}
    compare(game, mode, mask_in=mask_in, reward="points", target=5, **options)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_sync_on_legal_actions(game: str, mode: AutoresetMode) -> None:
    compare(game, mode, illegal=0.0, episode="deal")


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_sync_on_given_decks(game: str, mode: AutoresetMode) -> None:
    decks = [np.random.default_rng(k).permutation(40).tolist() for k in range(3)]
    compare(game, mode, start={"deck": decks, "dealer": 1, "score": [2, 1], "other": 0}, target=30)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opponent", [Highest(), HighestBatch()])
def test_agrees_with_sync_on_opponents_that_are_asked(game: str, mode: AutoresetMode, opponent: Any) -> None:
    compare(game, mode, steps=90, opponent=opponent, episode="deal", reward="points")


@pytest.mark.parametrize(
    ("opponent", "partner"), [("random", HighestBatch()), (Highest(), "random"), (Highest(), HighestBatch())]
)
def test_agrees_with_sync_on_another_partner(opponent: Any, partner: Any) -> None:
    compare("tressette-4p", AutoresetMode.SAME_STEP, steps=90, opponent=opponent, partner=partner, episode="deal")


class OnlyAct:
    """An opponent without ``act_batch``."""

    def __init__(self, player: Any) -> None:
        self.act = player.act


def test_one_row_asks_as_the_single_environment_does() -> None:
    native = make("tressette-4p", 1, opponent=Highest(), partner=OnlyAct(load("tressette-4p", "random", 1)))
    single = gymnasium.make(IDS["tressette-4p"], opponent=Highest(), partner=load("tressette-4p", "random", 1))
    rng = np.random.default_rng(0)
    observations, infos = native.reset(seed=3)
    observation, _ = single.reset(seed=3)
    for _ in range(30):
        check_same(observations["observation"][0], observation["observation"])
        actions = draw(infos["action_mask"], rng)
        observations, _, _, _, infos = native.step(actions)
        observation = single.step(int(actions[0]))[0]


def test_seat_and_seeds() -> None:
    env = make("tressette-4p", 64)
    _, infos = env.reset(seed=0)
    assert set(infos["seat"].tolist()) == {0, 1, 2, 3}
    assert np.array_equal(env.seats, infos["seat"])
    first = frozen(env)
    env.reset()
    assert frozen(env) != first
    env.reset(seed=np.int64(0))
    assert frozen(env) == first
    env.reset(seed=list(range(64)))
    assert frozen(env) == first
    env.reset(seed=np.arange(64))
    assert frozen(env) == first
    fixed = make("tressette-4p", 64, seat=2)
    assert (fixed.reset(seed=0)[1]["seat"] == 2).all()
    unseeded = [make("bazzica", 4) for _ in range(2)]
    for one in unseeded:
        one.reset()
    assert frozen(unseeded[0]) != frozen(unseeded[1])
    assert len({str(unseeded[0].snapshot(i)) for i in range(4)}) == 4


def test_same_seeds_same_games_with_a_random_opponent_object() -> None:
    results = []
    for _ in range(2):
        env = make("bazzica", 16, opponent=load("bazzica", "random", 4), autoreset_mode="SameStep", episode="deal")
        rng = np.random.default_rng(0)
        _, infos = env.reset(seed=1)
        path = []
        for _ in range(60):
            step = env.step(draw(infos["action_mask"], rng))
            infos = step[-1]
            path.append(step)
        results.append(path)
    check_same(*results)
    assert any(step[2].any() for step in results[0])


@pytest.mark.parametrize("game", GAMES)
def test_every_mode_is_declared(game: str) -> None:
    for mode in MODES:
        for given in (mode, mode.value):
            env = make(game, autoreset_mode=given)
            assert env.autoreset_mode is mode
            assert env.metadata["autoreset_mode"] is mode
    env = make(game)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert LearnerVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert env.unwrapped is env
    assert env.spec is not None
    assert env.spec.id == IDS[game]
    assert type(gymnasium.make_vec(IDS[game], num_envs=2)) is LearnerVectorEnv
    env.close()
    env.close()


def test_terminal_observations_have_a_mask_of_ones() -> None:
    rng = np.random.default_rng(0)
    for mode in MODES:
        env = make("tressette-2p", 8, autoreset_mode=mode, episode="deal", seat=0)
        _, infos = env.reset(seed=0)
        observations: Any = None
        for _ in range(20):
            observations, _, ended, _, infos = env.step(draw(infos["action_mask"], rng))
        assert ended.all()
        if mode == AutoresetMode.SAME_STEP:
            finals = infos["final_obs"]
            assert all(final["action_mask"].all() for final in finals)
            assert infos["final_info"]["action_mask"].all()
            assert not observations["action_mask"].all(axis=1).any()
        else:
            assert observations["action_mask"].all()
            assert env.action_masks().all()


def test_arrays_are_fresh_or_reused() -> None:
    rng = np.random.default_rng(0)
    env, thrifty = make("bazzica"), make("bazzica", copy=False)
    first, infos = env.reset(seed=1)
    reused, _ = thrifty.reset(seed=1)
    kept = copy.deepcopy((first, infos))
    actions = draw(infos["action_mask"], rng)
    after, after_reused = env.step(actions), thrifty.step(actions)
    check_same((first, infos), kept)
    check_same(after, after_reused)
    assert np.shares_memory(after_reused[0]["observation"], reused["observation"])
    rewards = after_reused[1]
    assert thrifty.step(draw(after[-1]["action_mask"], rng))[1] is rewards


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_any_integer_dtype(dtype: Any) -> None:
    env, other = make("tressette-2p"), make("tressette-2p")
    _, infos = env.reset(seed=1)
    other.reset(seed=1)
    actions = draw(infos["action_mask"], np.random.default_rng(0))
    expected = env.step(actions)
    check_same(other.step(actions.astype(dtype)), expected)
    other.reset(seed=1)
    check_same(other.step(actions.tolist()), expected)
    if dtype is np.uint64:
        other.reset(seed=1)
        assert other.step(actions.astype(dtype) + np.uint64(2**63))[2].all()  # illegal, not wrapped


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("opponent", ["random", Highest()])
def test_one_illegal_action_moves_nothing(game: str, opponent: Any) -> None:
    env = make(game, illegal="raise", opponent=opponent)
    _, infos = env.reset(seed=2)
    before = frozen(env)
    actions = draw(infos["action_mask"], np.random.default_rng(0))
    for action in (int(np.flatnonzero(infos["action_mask"][3] == 0)[0]), -1, 200):
        wrong = actions.copy()
        wrong[3] = action
        with pytest.raises(IllegalActionError, match="environment 3: illegal action"):
            env.step(wrong)
        assert frozen(env) == before
    env.step(actions)


def test_ended_rows_ignore_their_action_with_next_step() -> None:
    env = make("tressette-2p", 2, illegal="raise", episode="deal", seat=0, deck_cards=list(range(12)), hand_size=3)
    _, infos = env.reset(seed=0)
    ended = np.zeros(2, bool)
    rng = np.random.default_rng(0)
    while not ended.any():
        _, _, ended, _, infos = env.step(draw(infos["action_mask"], rng))
    _, rewards, ended, _, _ = env.step(np.array([-5, 99]))
    assert not ended.any()
    assert not rewards.any()
    with pytest.raises(IllegalActionError):
        env.step(np.array([-5, 99]))


def test_bad_actions() -> None:
    env = make("tressette-2p")
    with pytest.raises(NotResetError, match="reset"):
        env.step(np.zeros(N, int))
    with pytest.raises(NotResetError):
        env.snapshot(0)
    _, _ = env.reset(seed=0)
    before = frozen(env)
    wrongs: list[Any] = [np.zeros(N), np.zeros(N, bool), np.zeros(N - 1, int), np.zeros((N, 1), int), 3, None, ["a"] * N]
    for wrong in wrongs:
        with pytest.raises(OptionError, match="actions of"):
            env.step(wrong)
        assert frozen(env) == before


def test_a_row_that_is_over_must_be_reset_with_autoreset_disabled() -> None:
    env = make("tressette-2p", autoreset_mode="Disabled")
    mask = np.array([True, False, False, False, False])
    with pytest.raises(NotResetError, match="row 1"):
        env.reset(seed=1, options={"reset_mask": mask})
    _, infos = env.reset(seed=1)
    actions = draw(infos["action_mask"], np.random.default_rng(0))
    actions[0] = 99
    observations, rewards, ended, _, _ = env.step(actions)
    assert ended.tolist() == mask.tolist()
    assert rewards[0] == -1
    before = frozen(env)
    with pytest.raises(GameOverError, match="environment 0"):
        env.step(actions)
    assert frozen(env) == before
    options = {"reset_mask": mask}
    again, infos = env.reset(options=options)
    assert list(options) == ["reset_mask"]  # the caller's own, left as it was
    assert np.array_equal(again["observation"][1:], observations["observation"][1:])
    assert infos["_seat"].tolist() == mask.tolist()
    env.step(draw(env.action_masks(), np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"seed": [1, 2]}, "2 seeds for 5"),
        ({"seed": [1, 2, 3, 4, "5"]}, "seed"),
        ({"options": {"deck": [1]}}, "missing"),
        ({"options": {"dealer": 5}}, "dealer"),
        ({"options": {"reset_mask": [True] * N}}, "reset_mask"),
        ({"options": {"reset_mask": np.ones(N, int)}}, "reset_mask"),
        ({"options": {"reset_mask": np.ones(N + 1, bool)}}, "reset_mask"),
        ({"options": {"reset_mask": np.zeros(N, bool)}}, "reset_mask"),
    ],
)
def test_a_bad_reset_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    env = make("tressette-2p")
    env.reset(seed=2)
    before = frozen(env)
    with pytest.raises(OptionError, match=message):
        env.reset(**arguments)
    assert frozen(env) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"autoreset_mode": "Never"}, "autoreset_mode"),
        ({"opponent": "nobody"}, "'nobody'.*random"),
        ({"partner": "random"}, "partner"),
        ({"seat": 7}, "seat"),
        ({"illegal": "skip"}, "illegal"),
        ({"copy": 0}, "copy"),
        ({"mask_in": ""}, "mask_in"),
        ({"render_mode": "rgb_array"}, "render_mode"),
        ({"language": "xx"}, "language"),
        ({"napoletano": True}, "did you mean 'napoletana'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        LearnerVectorEnv("tressette-2p", **options)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    "change",
    [
        lambda actions: actions.astype(float),
        lambda actions: actions[1:],
        lambda actions: actions * 0 - 1,
        lambda actions: np.full(len(actions), 2**63 + 5, np.uint64),
        lambda actions: None,
    ],
)
def test_act_batch_that_answers_illegal_actions(game: str, change: Callable[[Any], Any]) -> None:
    opponent = HighestBatch()
    env, twin = make(game, opponent=opponent), make(game, opponent=HighestBatch())
    _, infos = env.reset(seed=0)
    twin.reset(seed=0)
    before = frozen(env)
    opponent.change = change
    actions = draw(infos["action_mask"], np.random.default_rng(0))
    with pytest.raises(IllegalActionError, match="opponent HighestBatch"):
        env.step(actions)
    assert frozen(env) == before
    with pytest.raises(IllegalActionError, match="opponent HighestBatch"):
        env.reset(seed=7, options={"deck": [list(range(40))] * 3})
    assert frozen(env) == before
    opponent.change = lambda actions: actions
    check_same(env.step(actions), twin.step(actions))
    assert max(opponent.sizes) > 1


def test_an_opponent_that_fails_moves_nothing() -> None:
    opponent = Highest()
    env, twin = make("bazzica", opponent=opponent), make("bazzica", opponent=Highest())
    _, infos = env.reset(seed=0)
    twin.reset(seed=0)
    before = frozen(env)
    opponent.fail = True
    actions = draw(infos["action_mask"], np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="no idea"):
        env.step(actions)
    assert frozen(env) == before
    opponent.fail = False
    check_same(env.step(actions), twin.step(actions))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("opponent", ["random", HighestBatch()])
def test_copies_go_on_identically(game: str, opponent: Any) -> None:
    env = make(game, opponent=opponent, autoreset_mode="SameStep", episode="deal")
    rng = np.random.default_rng(0)
    _, infos = env.reset(seed=3)
    for _ in range(7):
        *_, infos = env.step(draw(infos["action_mask"], rng))
    if opponent != "random":
        opponent.change = copy.copy  # a lambda could not be pickled
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    masks = [env.action_masks() for _ in range(3)]
    for _ in range(30):
        actions = draw(masks[0], rng)
        results = [one.step(actions) for one in (env, *copies)]
        check_same(results[1], results[0])
        check_same(results[2], results[0])
        masks = [result[-1]["action_mask"] for result in results]


def test_views_of_a_row() -> None:
    env = make("tressette-4p", render_mode="ansi")
    _, infos = env.reset(seed=0)
    for i in range(N):
        information = env.information(i)
        assert information.seat == infos["seat"][i]
        assert information.legal_actions() == np.flatnonzero(infos["action_mask"][i]).tolist()
        assert env.information(i, 0).seat == 0
        assert env.events(i)[0]["kind"] == "deal"
        assert env.events(i, -1) == []
    pictures = env.render()
    assert pictures is not None
    assert len(pictures) == N
    assert env.obs_spec()[-1][2] == get_game("tressette-4p").obs_size
    for wrong in (
        lambda: env.snapshot(N),
        lambda: env.information(0, 4),
        lambda: env.information(-1),
        lambda: env.events(0, 2),
    ):
        with pytest.raises(OptionError):
            wrong()
    with pytest.raises(OptionError, match="render_mode"):
        make("bazzica").render()


def test_human_rendering_prints(capsys: pytest.CaptureFixture[str]) -> None:
    env = make("bazzica", 2, render_mode="human")
    _, infos = env.reset(seed=0)
    env.step(draw(infos["action_mask"], np.random.default_rng(0)))
    assert capsys.readouterr().out.count("┌") == 4
    assert env.render() is None


@pytest.mark.parametrize("mode", MODES[:2])
def test_vector_wrappers_of_gymnasium(mode: AutoresetMode) -> None:
    listed: Any = gymnasium.wrappers.vector.DictInfoToList(make("tressette-2p", autoreset_mode=mode, episode="deal"))
    counted: Any = gymnasium.wrappers.vector.RecordEpisodeStatistics(make("tressette-2p", autoreset_mode=mode, episode="deal"))
    observations, _ = listed.reset(seed=0)
    counted.reset(seed=0)
    rng = np.random.default_rng(0)
    episodes = 0
    for _ in range(60):
        actions = draw(observations["action_mask"], rng)
        observations, _, ended, _, infos = listed.step(actions)
        assert [info["seat"] for info in infos] == listed.unwrapped.seats.tolist()
        _, _, also_ended, _, counts = counted.step(actions)
        np.testing.assert_array_equal(ended, also_ended)
        if mode == AutoresetMode.NEXT_STEP and ended.any():
            episodes += int(ended.sum())
            assert (counts["episode"]["l"][ended] == 20).all()
    assert episodes or mode != AutoresetMode.NEXT_STEP


def test_odd_arguments() -> None:
    env = make("bazzica")
    with pytest.raises(NotResetError, match="no games yet"):
        env.action_masks()
    with pytest.raises(OptionError, match=r"^seed"):
        env.reset(seed=[[1, 2], *([3] * (N - 1))])
    env.reset(seed=2**63 - N)
    with pytest.raises(OptionError, match="whole numbers"):
        env.step([[1], *([[2, 3]] * (N - 1))])
