"""The single-agent Gymnasium environment."""

import copy
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import settebello
from settebello.errors import GameOverError, IllegalActionError, NotResetError, OptionError, SettebelloError, StateError
from settebello.game import get_game
from settebello.gym import LearnerEnv
from settebello.opponents import ask, load
from settebello.single import SingleGame

pytestmark = pytest.mark.border

IDS = {
    "tressette-2p": "settebello/Tressette2p-v0",
    "tressette-4p": "settebello/Tressette4p-v0",
    "bazzica": "settebello/Bazzica-v0",
}
GAMES = tuple(IDS)


def make(game: str, **options: Any) -> LearnerEnv:
    env = gymnasium.make(IDS[game], **options)
    assert isinstance(env, LearnerEnv)
    return env


def draw(mask: Any, rng: np.random.Generator) -> int:
    """A legal action."""
    return int(rng.choice(np.flatnonzero(mask)))


def play(env: LearnerEnv, rng: np.random.Generator, info: dict[str, Any], steps: int = 100_000) -> list[tuple[Any, ...]]:
    """Random legal actions until the end or so many steps; what each step returned, with its action in front."""
    path = []
    for _ in range(steps):
        action = draw(info["action_mask"], rng)
        *step, info = env.step(action)
        path.append((action, *step, info))
        if step[2]:
            break
    return path


def same(left: Any, right: Any) -> bool:
    """Whether two nested results are equal in value, shape and dtype."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and np.array_equal(left, right)
    return type(left) is type(right) and bool(left == right)


def frozen(env: LearnerEnv) -> tuple[Any, ...]:
    """All that can be seen of an environment."""
    return env.get_state(), env.seat, env.action_masks().tobytes(), env.snapshot()


class Lowest:
    """Plays the lowest legal action and notes which seat it was asked for."""

    def __init__(self) -> None:
        self.seats: list[int] = []
        self.log: list[int] = []

    def act(self, information: Any) -> int:
        self.seats.append(information.seat)
        action: int = information.legal_actions()[0]
        self.log.append(action)
        return action


class Spy(Lowest):
    """Plays at random and notes what it played."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def act(self, information: Any) -> int:
        action = int(self.rng.choice(information.legal_actions()))
        self.log.append(action)
        return action


class Answers:
    """Answers always the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, information: Any) -> Any:
        return self.answer


class Fails:
    """Raises from its n-th move on."""

    def __init__(self, moves: int) -> None:
        self.moves = moves

    def act(self, information: Any) -> int:
        self.moves -= 1
        if self.moves < 0:
            raise RuntimeError("no idea")
        action: int = information.legal_actions()[0]
        return action


# --- Gymnasium's interface -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mask_in", ["obs", "info"])
@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_check_env(game: str, mask_in: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(game, mask_in=mask_in, render_mode=render_mode), skip_render_check=False)


@pytest.mark.parametrize("game", GAMES)
def test_make_returns_the_bare_environment(game: str) -> None:
    env = gymnasium.make(IDS[game], seat=1)
    assert type(env) is LearnerEnv
    assert env.unwrapped is env
    assert env.spec is not None
    assert env.spec.id == IDS[game]
    assert env.game == game
    again = gymnasium.make(env.spec)
    assert same(env.reset(seed=5), again.reset(seed=5))
    env.close()


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mask_in", ["obs", "info"])
def test_observations_masks_and_infos(game: str, mask_in: str) -> None:
    env = make(game, mask_in=mask_in, napoletana=True) if game != "bazzica" else make(game, mask_in=mask_in)
    rng = np.random.default_rng(1)
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        for _ in range(10_000):
            assert observation in env.observation_space
            assert info["seat"] == env.seat
            mask = info["action_mask"]
            assert mask.any()
            assert mask.dtype == np.int8
            assert set(np.unique(mask)) <= {0, 1}
            assert np.array_equal(env.action_masks(), mask)
            plain = observation
            if mask_in == "obs":
                assert observation["action_mask"] is mask
                plain = observation["observation"]
            information = env.information()
            assert information.seat == env.seat
            assert np.array_equal(information.observation(), plain)
            assert information.legal_actions() == np.flatnonzero(mask).tolist()
            observation, _, terminated, truncated, info = env.step(draw(mask, rng))
            assert truncated is False
            if terminated:
                break
        assert terminated
        assert observation in env.observation_space
        assert info["action_mask"].all()  # at the end, where nothing may be played
        assert env.action_masks().all()
        assert env.snapshot()["over"]


def test_arrays_are_fresh_or_reused() -> None:
    env, thrifty = make("tressette-2p"), make("tressette-2p", copy=False)
    rng = np.random.default_rng(0)
    fresh, info = env.reset(seed=3)
    kept = copy.deepcopy(fresh)
    reused, _ = thrifty.reset(seed=3)
    action = draw(info["action_mask"], rng)
    after = env.step(action)[0]
    after_reused = thrifty.step(action)[0]
    assert same(fresh, kept)
    assert not np.shares_memory(after["observation"], fresh["observation"])
    assert np.shares_memory(after_reused["observation"], reused["observation"])
    assert same(after, after_reused)


@pytest.mark.parametrize("game", GAMES)
def test_wrappers_of_gymnasium(game: str) -> None:
    wrappers = gymnasium.wrappers
    env: Any = make(game, episode="deal")
    env = wrappers.FlattenObservation(
        wrappers.RecordEpisodeStatistics(wrappers.OrderEnforcing(wrappers.PassiveEnvChecker(env)))
    )
    observation, info = env.reset(seed=1)
    rng = np.random.default_rng(0)
    total, terminated = 0.0, False
    while not terminated:
        assert observation in env.observation_space
        assert np.array_equal(env.get_wrapper_attr("action_masks")(), info["action_mask"])
        observation, reward, terminated, _, info = env.step(draw(info["action_mask"], rng))
        total += reward
    assert info["episode"]["r"] == total
    limited = gymnasium.make(IDS[game], max_episode_steps=3)
    _, info = limited.reset(seed=0)
    steps = 0
    truncated = False
    while not truncated:
        _, _, _, truncated, info = limited.step(draw(info["action_mask"], rng))
        steps += 1
    assert steps == 3


def test_render(capsys: pytest.CaptureFixture[str]) -> None:
    env = make("bazzica", render_mode="ansi", seat=0)
    env.reset(seed=0)
    text = env.render()
    assert text is not None
    assert "hidden" in text  # as the learner sees it
    assert capsys.readouterr().out == ""
    env = make("bazzica", render_mode="human", seat=0, language="it")
    _, info = env.reset(seed=0)
    env.step(draw(info["action_mask"], np.random.default_rng(0)))
    assert capsys.readouterr().out.count("┌") == 2
    assert env.render() is None
    with pytest.raises(OptionError, match="render_mode=None"):
        make("bazzica").render()


# --- games and seeds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_reset_gives_the_game_of_the_seed(game: str) -> None:
    single = SingleGame(get_game(game), get_game(game).options())
    for seed in (0, 1, 2, 2**40 + 1, 2**63 - 1):
        single.reset(seed)
        env = make(game, seat=single.turn)  # the opener's seat: nobody plays before it
        env.reset(seed=seed)
        assert env.get_state() == single.get_state()
        assert env.seat == single.turn


@pytest.mark.parametrize("game", GAMES)
def test_same_games_as_a_row_of_a_batch(game: str) -> None:
    spy = Spy(3)
    env = make(game, opponent=spy, seat=1, reward="points")
    batch = settebello.BatchEnv(game, 1, seed=11, reward="points")
    rng = np.random.default_rng(2)
    seed: int | None = 11
    for _ in range(3):  # the second and third game without a seed
        spy.log.clear()
        _, info = env.reset(seed=seed)
        seed = None
        total = expected = 0.0
        terminated = done = False
        while not terminated:
            action = draw(info["action_mask"], rng)
            spy.log.append(action)
            observation, reward, terminated, _, info = env.step(action)
            total += reward
        for action in spy.log:
            assert not done
            rewards, dones = batch.step(np.array([action]))
            done = bool(dones[0])
            expected += rewards[0, 1]
        assert done
        assert total == expected
        assert env.snapshot()["score"] == batch.final_score[0].tolist()
        assert observation["observation"] in env.observation_space["observation"]


@pytest.mark.parametrize("game", GAMES)
def test_same_seed_same_trajectory(game: str) -> None:
    first, second = make(game), make(game)
    second.reset(seed=99)
    for seed in (0, 7):
        results = []
        for env in (first, second):
            rng = np.random.default_rng(5)
            start = env.reset(seed=seed)
            path = play(env, rng, start[1])
            again = env.reset()  # the stream goes on
            results.append((start, path, again, play(env, rng, again[1], 20)))
        assert same(*results)


@pytest.mark.parametrize("game", GAMES)
def test_opponents_draw_from_the_seed_alone(game: str) -> None:
    # The learner's actions being the same, the opponents' are too, whatever was played before the reset.
    env, other = make(game, seat=0), make(game, seat=0)
    _, info = other.reset(seed=1)
    play(other, np.random.default_rng(0), info, 7)
    assert same(env.reset(seed=4), other.reset(seed=4))
    assert env.snapshot() == other.snapshot()
    rng = np.random.default_rng(6)
    state = rng.bit_generator.state
    path = play(env, rng, {"action_mask": env.action_masks()})
    rng.bit_generator.state = state
    assert same(path, play(other, rng, {"action_mask": other.action_masks()}))


def test_without_a_seed_games_differ() -> None:
    states = set()
    for _ in range(4):
        env = make("tressette-2p")
        env.reset()
        states.add(env.get_state())
    assert len(states) == 4


@pytest.mark.parametrize("game", GAMES)
def test_seats(game: str) -> None:
    seats = get_game(game).num_seats
    env = make(game)
    drawn = []
    for seed in range(60):
        env.reset(seed=seed)
        drawn.append(env.seat)
        assert env.snapshot()["turn"] == env.seat
    assert set(drawn) == set(range(seats))
    env.reset(seed=0)
    assert {env.reset()[1]["seat"] for _ in range(60)} == set(range(seats))
    for seat in range(seats):
        fixed = make(game, seat=seat)
        for seed in range(5):
            assert fixed.reset(seed=seed)[1]["seat"] == seat
            assert fixed.snapshot()["turn"] == seat


@pytest.mark.parametrize("game", GAMES)
def test_reset_options(game: str) -> None:
    deck = list(range(40))
    for seat in range(get_game(game).num_seats):
        env = make(game, seat=seat, opponent=Lowest())
        single = SingleGame(get_game(game), get_game(game).options())
        env.reset(seed=1, options={"deck": deck, "dealer": 1, "score": [3, 20], "what": "ever"})
        single.reset(1, {"deck": deck, "dealer": 1, "score": (3, 20)})
        while single.turn != seat:
            single.step(int(np.flatnonzero(single.mask)[0]))
        assert env.snapshot() == single.snapshot()
        assert env.snapshot()["score"][1] == 20
        env.reset(seed=1, options={"deck": None, "dealer": None, "score": None})
        plain = env.get_state()
        env.reset(seed=1)
        assert env.get_state() == plain


@pytest.mark.parametrize("game", ["tressette-2p", "bazzica"])
@pytest.mark.parametrize("opponent", ["random", Lowest()])
def test_decks_for_several_deals(game: str, opponent: Any) -> None:
    decks = [np.random.default_rng(k).permutation(40) for k in range(3)]
    env = make(game, opponent=opponent)
    rng = np.random.default_rng(1)
    for seed in range(3):
        _, info = env.reset(seed=seed, options={"deck": [decks[0], decks[1].tolist(), tuple(decks[2].tolist())]})
        seen = {}
        saved = None
        for _ in range(400):
            snapshot = env.snapshot()
            stock = snapshot["stock"]
            number = snapshot["deal_number"]
            if stock:
                seen[number] = number <= 3 and stock == decks[number - 1][-len(stock) :].tolist()
            if number == 2 and saved is None:
                saved = env.get_state()
            if number == 4:
                break
            *_, terminated, _, info = env.step(draw(info["action_mask"], rng))
            if terminated:
                break
        assert seen[1] and seen[2]
        assert seen.get(3, True)
        assert not seen.get(4, False)
        assert saved is not None
        other = make(game, opponent=opponent, seat=env.seat)
        other.set_state(saved)  # the third deck is in it
        copied = copy.deepcopy(other)
        for one in (other, copied):
            rng = np.random.default_rng(8)
            mask = one.action_masks()
            while one.snapshot()["deal_number"] == 2 and not one.snapshot()["over"]:
                mask = one.step(draw(mask, rng))[-1]["action_mask"]
            stock = one.snapshot()["stock"]
            assert one.snapshot()["over"] or stock == decks[2][-len(stock) :].tolist()


# --- rewards ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize("opponent", ["random", Lowest()])
def test_points_are_accounted_across_the_opponents_moves(game: str, episode: str, opponent: Any) -> None:
    options = {} if game == "bazzica" else {"napoletana": True}
    rng = np.random.default_rng(3)
    for seat in range(get_game(game).num_seats):
        env = make(game, seat=seat, reward="points", episode=episode, opponent=opponent, **options)
        for seed in range(20 if episode == "deal" else 4):
            _, info = env.reset(seed=seed)
            side = seat % 2
            total, terminated = 0.0, False
            while not terminated:
                *_, reward, terminated, _, info = env.step(draw(info["action_mask"], rng))
                assert isinstance(reward, float)
                total += reward
                score = env.snapshot()["score"]
                assert total == score[side] - score[1 - side]
            sheet = env.snapshot()["last_deal"]
            counted = env.events(-1)[-1]
            assert counted["kind"] == "count"
            assert counted["points"] == sheet["points"]


@pytest.mark.parametrize("game", ["tressette-2p", "tressette-4p"])
@pytest.mark.parametrize("opponent", ["random", Lowest()])
def test_what_comes_before_the_first_action_counts_to_it(game: str, opponent: Any) -> None:
    # Each seat is dealt a napoletana, and scores it with its first card.
    seats = get_game(game).num_seats
    deck = [card for suit in range(4) for card in range(10 * suit, 10 * suit + 10)]
    for seat in range(seats):
        env = make(game, seat=seat, opponent=opponent, reward="points", napoletana=True)
        _, info = env.reset(seed=0, options={"deck": deck, "dealer": seats - 1})
        signs = [1 if other % 2 == seat % 2 else -1 for other in range(seats)]
        ahead = 3 * sum(signs[:seat])
        score = env.snapshot()["score"]
        assert ahead == score[seat % 2] - score[1 - seat % 2]
        other = copy.deepcopy(env)
        for one in (env, other):
            reward = one.step(draw(info["action_mask"], np.random.default_rng(0)))[1]
            score = one.snapshot()["score"]
            assert reward == score[seat % 2] - score[1 - seat % 2]
        assert env.reset()[0] in env.observation_space  # drops what was not given out


@pytest.mark.parametrize("game", GAMES)
def test_winning_is_one_reward_at_the_end(game: str) -> None:
    rng = np.random.default_rng(0)
    env = make(game)
    seen = set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        path = play(env, rng, info)
        rewards = [step[2] for step in path]
        assert not any(rewards[:-1])
        winner = env.snapshot()["winner"]
        assert rewards[-1] == (1 if winner == env.seat % 2 else -1)
        seen.add(rewards[-1])
    assert seen == {1.0, -1.0}


# --- illegal actions and bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("reward", "loss"), [("win", -1.0), ("points", -17.0)])
@pytest.mark.parametrize("opponent", ["random", Lowest()])
def test_an_illegal_action_ends_the_game(game: str, reward: str, loss: float, opponent: Any) -> None:
    env = make(game, reward=reward, target=17, opponent=opponent)
    rng = np.random.default_rng(0)
    actions = get_game(game).num_actions
    for seed, outside in enumerate([None, actions, -1, 2**70, None]):
        _, info = env.reset(seed=seed)
        info = play(env, rng, info, 3)[-1][-1]
        action = int(np.flatnonzero(info["action_mask"] == 0)[0]) if outside is None else outside
        observation, got, terminated, truncated, info = env.step(action)
        assert (got, terminated, truncated) == (loss, True, False)
        assert observation in env.observation_space
        assert info["action_mask"].all()
        assert env.snapshot()["over"]
        assert env.snapshot()["winner"] is None
        with pytest.raises(GameOverError):
            env.step(0)
        saved = env.get_state()
        env.set_state(saved)
        with pytest.raises(GameOverError):
            env.step(0)
        _, info = env.reset()
        assert not env.snapshot()["over"]
        assert not info["action_mask"].all()


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("opponent", ["random", Lowest()])
def test_an_illegal_action_is_refused(game: str, opponent: Any) -> None:
    env = make(game, illegal="raise", opponent=opponent)
    _, info = env.reset(seed=1)
    before = frozen(env)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    for action in (illegal, -1, 101, np.int64(illegal)):
        with pytest.raises(IllegalActionError, match=f"player_{env.seat}.*legal"):
            env.step(action)
        assert frozen(env) == before
    env.step(draw(info["action_mask"], np.random.default_rng(0)))


def test_any_integer_is_an_action() -> None:
    env, other = make("tressette-2p"), make("tressette-2p")
    _, info = env.reset(seed=1)
    other.reset(seed=1)
    action = draw(info["action_mask"], np.random.default_rng(0))
    expected = env.step(action)
    assert same(other.step(np.uint8(action)), expected)
    other.reset(seed=1)
    assert same(other.step(np.array(action)), expected)
    other.reset(seed=1)
    before = frozen(other)
    for wrong in (True, 1.0, np.float32(1), None, "1", [1], np.array([1]), np.True_):
        with pytest.raises(OptionError, match="expected a whole number"):
            other.step(wrong)
    assert frozen(other) == before


@pytest.mark.parametrize("game", GAMES)
def test_use_before_reset_and_after_the_end(game: str) -> None:
    env = make(game, render_mode="ansi", episode="deal")
    for use in (lambda: env.step(0), env.action_masks, env.snapshot, env.information, env.events, env.get_state, env.render):
        with pytest.raises(NotResetError, match="reset"):
            use()
    assert env.seat == -1
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    play(env, rng, info)
    before = frozen(env)
    for action in (0, -1, 1000):
        with pytest.raises(GameOverError, match="over"):
            env.step(action)
    assert frozen(env) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 0}, "target"),
        ({"target": 101}, "target"),
        ({"targets": 21}, "did you mean 'target'"),
        ({"players": 2}, "players"),
        ({"seat": 2}, "seat=2"),
        ({"seat": True}, "seat=True"),
        ({"opponent": "randm"}, "'randm'.*random, easy"),
        ({"opponent": 3}, "act"),
        ({"opponent": Lowest}, "act"),
        ({"opponent": None}, "act"),
        ({"partner": "random"}, "partner"),
        ({"mask_in": "observation"}, "mask_in"),
        ({"illegal": "ignore"}, "illegal"),
        ({"copy": 1}, "copy"),
        ({"language": "de"}, "language"),
        ({"episode": "hand"}, "episode"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        gymnasium.make(IDS["tressette-2p"], **options)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, SettebelloError)


def test_bad_render_mode() -> None:
    with pytest.raises(OptionError, match="render_mode"):
        LearnerEnv("tressette-2p", render_mode="rgb_array")
    with pytest.raises(OptionError, match="unknown game"):
        LearnerEnv("tressette")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**63}, "seed"),
        ({"seed": 1.0}, "seed"),
        ({"seed": True}, "seed"),
        ({"options": {"deck": list(range(39))}}, "missing"),
        ({"options": {"deck": [0, *range(39)]}}, "doubled"),
        ({"options": {"deck": []}}, "deck"),
        ({"options": {"deck": 7}}, "deck"),
        ({"options": {"deck": "Ad"}}, "deck"),
        ({"options": {"deck": [list(range(40)), [1, 2]]}}, r"deck\[1\]"),
        ({"options": {"dealer": 2}}, "dealer=2"),
        ({"options": {"dealer": "me"}}, "dealer"),
        ({"options": {"score": [1]}}, "score"),
        ({"options": {"score": [1, -1]}}, r"score\[1\]"),
        ({"options": {"score": 3}}, "score"),
        ({"options": [1]}, "options"),
    ],
)
def test_a_bad_reset_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    env, other = make("tressette-2p"), make("tressette-2p")
    env.reset(seed=2)
    other.reset(seed=2)
    before = frozen(env)
    with pytest.raises(OptionError, match=message):
        env.reset(**arguments)
    assert frozen(env) == before
    assert same(env.reset(), other.reset())


# --- opponents -------------------------------------------------------------------------------------------------------------


def test_opponent_and_partner_play_their_seats() -> None:
    opponent, partner = Lowest(), Lowest()
    env = make("tressette-4p", opponent=opponent, partner=partner, seat=3, episode="deal")
    _, info = env.reset(seed=0)
    play(env, np.random.default_rng(0), info)
    assert opponent.seats.count(0) == opponent.seats.count(2) == partner.seats.count(1) == 10
    assert set(partner.seats) == {1}
    assert set(opponent.seats) == {0, 2}
    alone = Lowest()
    env = make("tressette-4p", opponent="random", partner=alone, seat=0, episode="deal")
    _, info = env.reset(seed=0)
    play(env, np.random.default_rng(0), info)
    assert alone.seats == [2] * 10
    both = Lowest()
    env = make("tressette-4p", opponent=both, partner="random", seat=0, episode="deal")
    _, info = env.reset(seed=0)
    play(env, np.random.default_rng(0), info)
    assert set(both.seats) == {1, 3}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("answer", [999, -1, None, True, 1.0, "0", "illegal"])
def test_an_opponent_that_answers_an_illegal_action(game: str, answer: Any) -> None:
    class Muddled(Lowest):
        wrong = False

        def act(self, information: Any) -> Any:
            if not self.wrong:
                return super().act(information)
            if answer != "illegal":
                return answer
            return next(action for action in range(101) if action not in information.legal_actions())

    muddled = Muddled()
    env = make(game, opponent=muddled)
    _, info = env.reset(seed=1)
    before = frozen(env)
    muddled.wrong = True
    rng = np.random.default_rng(0)
    with pytest.raises(IllegalActionError, match="opponent Muddled as player_"):
        play(env, rng, info, 1 if game != "bazzica" else 20)
    if game != "bazzica":
        assert frozen(env) == before
    held = frozen(env)
    with pytest.raises(IllegalActionError):
        play(env, rng, {"action_mask": env.action_masks()}, 20)
    muddled.wrong = False
    if game != "bazzica":
        assert frozen(env) == held
    assert play(env, rng, {"action_mask": env.action_masks()})[-1][3]


@pytest.mark.parametrize("game", GAMES)
def test_an_opponent_that_fails(game: str) -> None:
    env = make(game, opponent=Fails(4), seat=0)
    twin = make(game, opponent=Lowest(), seat=0)
    _, info = env.reset(seed=0, options={"dealer": 1 if game != "tressette-4p" else 3})
    twin.reset(seed=0, options={"dealer": 1 if game != "tressette-4p" else 3})
    with pytest.raises(RuntimeError, match="no idea"):
        while True:
            before = frozen(env)
            action = draw(info["action_mask"], np.random.default_rng(0))
            *_, info = env.step(action)
            twin.step(action)
    assert frozen(env) == before == frozen(twin)
    with pytest.raises(RuntimeError, match="no idea"):  # as an opener in reset: then there is no game
        env.reset(seed=0, options={"dealer": 0})
    with pytest.raises(NotResetError):
        env.step(0)


def test_load() -> None:
    opponent = load("tressette-2p", "random", seed=0)
    single = SingleGame(get_game("tressette-2p"), get_game("tressette-2p").options())
    single.reset(0)
    information = single.information(single.turn)
    first = [opponent.act(information) for _ in range(50)]
    again = load("tressette-2p", "random", seed=0)
    assert [again.act(information) for _ in range(50)] == first
    assert set(first) <= set(information.legal_actions())
    assert len(set(first)) > 5
    assert ask(opponent, information) in information.legal_actions()
    with pytest.raises(OptionError, match="not to move"):
        opponent.act(single.information(1 - single.turn))
    for arguments, message in (
        (("tresette-2p", "random"), "did you mean"),
        (("bazzica", "expert"), "'random'"),
        (("bazzica", "random", -1), "seed"),
        (("bazzica", "random", 1.5), "seed"),
    ):
        with pytest.raises(OptionError, match=message):
            load(*arguments)
    with pytest.raises(OptionError, match="worlds"):
        load("bazzica", "random", worlds=10)
    assert load("bazzica", "random").seed != load("bazzica", "random").seed


# --- copies and saved games ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("asked", [False, True])
def test_copies_go_on_identically(game: str, asked: bool) -> None:
    env = make(game, opponent=load(game, "random", 5) if asked else "medium", reward="points")
    _, info = env.reset(seed=6)
    info = play(env, np.random.default_rng(1), info, 9)[-1][-1]
    copies = [env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = play(env, np.random.default_rng(2), info)
    after = env.reset()
    for other in copies:
        assert same(play(other, np.random.default_rng(2), {"action_mask": other.action_masks()}), expected)
        assert same(other.reset(), after)
    fresh = pickle.loads(pickle.dumps(make(game)))  # one that was never reset
    assert same(fresh.reset(seed=1), make(game).reset(seed=1))


def test_addresses_of_compiled_code_do_not_travel() -> None:
    env = make("bazzica", opponent="medium")
    env.reset(seed=1)
    assert "policies" in vars(env._seating)
    for other in (env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert "policies" not in vars(other._seating)  # in another process they would lead anywhere


@pytest.mark.parametrize("game", GAMES)
def test_saved_games(game: str) -> None:
    env = make(game, seat=1)
    _, info = env.reset(seed=6)
    info = play(env, np.random.default_rng(1), info, 9)[-1][-1]
    saved, snapshot = env.get_state(), env.snapshot()
    other = make(game)
    result = other.set_state(saved)
    assert other.snapshot() == snapshot
    assert other.seat == 1  # the seat that is to move
    assert np.array_equal(result[1]["action_mask"], info["action_mask"])
    play(other, np.random.default_rng(1), result[1])
    other.set_state(saved)
    assert other.snapshot() == snapshot
    world = env.information().sample_world(np.random.default_rng(0))
    observation, _ = env.set_state(world)
    assert same(observation, result[0])
    # Of a game where an opponent is to move, it moves.
    single = SingleGame(get_game(game), get_game(game).options())
    single.reset(3)
    fixed = make(game, seat=(single.turn + 1) % get_game(game).num_seats)
    fixed.set_state(single.get_state())
    assert fixed.snapshot()["turn"] == fixed.seat
    before = frozen(env)
    for data, message in ((saved[:-1], "truncated"), (b"", "begin"), (saved[:-1] + b"?", "damaged"), (None, "expected bytes")):
        with pytest.raises(StateError, match=message):
            env.set_state(data)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="target"):
        make(game, target=5).set_state(saved)
    assert frozen(env) == before
    with pytest.raises(OptionError, match="seat"):
        env.information(4)
    with pytest.raises(OptionError, match="deal"):
        env.events(1)


@pytest.mark.parametrize("game", GAMES)
def test_obs_spec(game: str) -> None:
    env = make(game, mask_in="info")
    spec = env.obs_spec()
    assert spec[0][1] == 0
    assert spec[-1][2] == env.observation_space.shape[0]
    for _, start, stop, low, high, _ in spec:
        assert (env.observation_space.low[start:stop] == low).all()
        assert (env.observation_space.high[start:stop] == high).all()


@pytest.mark.parametrize("rows", [[4], [-1], [10**6], [0.0], [True], [[0]], None, "a"], ids=str)
def test_act_batch_refuses_rows_that_are_not_there(rows: Any) -> None:
    opponent = settebello.opponents.load("bazzica", "random", seed=1)
    with pytest.raises(OptionError, match=r"^rows=.*: expected whole numbers from 0 to 3"):
        opponent.act_batch(settebello.BatchEnv("bazzica", 4), rows)
