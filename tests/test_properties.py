"""What holds in every game at every moment, whatever is played; and copies that go on like the original."""

import copy
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from settebello import BatchEnv
from settebello.aec import AECEnv
from settebello.game import GAMES as REGISTRY
from tests.engine import CHOICES, GAMES, MAX_STEPS, SEATS, SideBySide, cards_of, deck_of, make_env, make_reference, random_deck

# The same examples each time; the long tests of test_rules are where new ones are looked for.
EXAMPLES = settings(deadline=None, max_examples=120, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
REST = 1500  # steps that copies are followed for at most

TRIOS = [10 * suit + rank for suit in range(4) for rank in range(3)]
MAX_STATE, MAX_ROW = 512, {"tressette-2p": 384, "tressette-4p": 512, "bazzica": 512}  # bytes


class Setup(NamedTuple):
    """A game about to be played."""

    game: str
    options: dict[str, Any]
    seed: int
    decks: int  # given, the later ones are of the seed
    choices: int  # seed of what is played
    steps: int  # played before the moment of interest

    def env(self) -> AECEnv:
        """The environment, nothing started."""
        return make_env(self.game, self.options)

    def start(self) -> AECEnv:
        """The environment with the match started."""
        env, rng = self.env(), random.Random(self.choices)
        cards = make_reference(self.game, self.options).cards
        decks = [random_deck(self.game, cards, rng) for _ in range(self.decks)]
        env.reset(seed=self.seed, options={"deck": decks or None})
        return env

    def at_moment(self) -> tuple[AECEnv, random.Random]:
        """The environment after so many steps, or at the end of the match, and the source of the choices to come."""
        env, rng = self.start(), random.Random(self.choices)
        for _ in range(self.steps):
            if not is_over(env):
                env.step(choose(env, self.game, rng))
        return env, rng


def options_of(game: str) -> st.SearchStrategy[dict[str, Any]]:
    """Options of a game; for Tressette small decks too."""
    options: dict[str, st.SearchStrategy[Any]] = {
        "target": st.sampled_from([21, 1, 5, 41]),
        "episode": st.sampled_from(["match", "match", "deal"]),
        "reward": st.sampled_from(["win", "points"]),
    }
    if game == "bazzica":
        points = st.fixed_dictionaries({name: st.integers(0, 10) for name in ("pariglia", "meno_di_nove", "bazzicotto")})
        default = {"pariglia_meno_di_nove": 3}
        options["declaration_points"] = st.none() | points.map(lambda given: {**given, **default})
        options["low_sum_max"] = st.sampled_from([8, 9, 15])
        options["last_card_scopa"] = st.booleans()
        return st.fixed_dictionaries(options)
    options["napoletana"] = st.booleans()
    whole = st.just({"deck_cards": None, "hand_size": 10})
    small = st.just({"deck_cards": TRIOS, "hand_size": 3})
    return st.builds(lambda options, size: {**options, **size}, st.fixed_dictionaries(options), whole | whole | small)


def setups(decks: int = 3, steps: int = 300, games: tuple[str, ...] = GAMES) -> st.SearchStrategy[Setup]:
    """Games to be played, with at most so many decks and steps."""

    def of(game: str) -> st.SearchStrategy[Setup]:
        numbers = st.integers(0, 2**63 - 1), st.integers(0, decks), st.integers(0, 2**32), st.integers(0, steps)
        return st.builds(Setup, st.just(game), options_of(game), *numbers)

    return st.sampled_from(games).flatmap(of)


def is_over(env: AECEnv) -> bool:
    """Whether the game is over."""
    return any(env.terminations.values())


def choose(env: AECEnv, game: str, rng: random.Random) -> int:
    """A legal action, by one of the game's ways to choose."""
    return rng.choice(CHOICES[game])(rng, env.action_masks().nonzero()[0].tolist())


def view(env: AECEnv) -> tuple[Any, ...]:
    """All that an environment shows of a step, and its state."""
    agents = env.possible_agents
    seen = [(env.observe(agent)["observation"].tobytes(), env.observe(agent)["action_mask"].tobytes()) for agent in agents]
    rewards = [(env.rewards[agent], env.terminations[agent], env.truncations[agent]) for agent in agents]
    return env.agent_selection, seen, env.action_masks().tobytes(), rewards, env.get_state()


def rest_of(env: AECEnv, game: str, choices: int) -> list[tuple[Any, ...]]:
    """Plays a match to its end; what the environment showed at each step."""
    rng, views = random.Random(choices), []
    while not is_over(env) and len(views) < REST:
        env.step(choose(env, game, rng))
        views.append(view(env))
    return views


# --- what holds at every moment ------------------------------------------------------------------------------------------


@EXAMPLES
@given(setups())
def test_every_moment(setup: Setup) -> None:
    """Cards are conserved, a deal has 11 points, the mask is the reference's, rewards sum to zero and partners share them."""
    rng = random.Random(setup.choices)
    pair = SideBySide(setup.game, setup.options)
    env, reference = pair.engine.env, pair.reference
    decks = [random_deck(setup.game, reference.cards, rng) for _ in range(setup.decks)]
    pair.start(setup.seed, decks, setup.seed % SEATS[setup.game])
    rewards_in_all = [0.0] * SEATS[setup.game]
    while reference.turn is not None and len(reference.actions) < MAX_STEPS:
        snapshot = env.snapshot()
        assert cards_of(snapshot) == reference.cards
        assert env.action_masks().nonzero()[0].tolist() == reference.legal_actions() != []
        for agent in env.possible_agents:
            assert env.observe(agent)["action_mask"].any() == (agent == env.agent_selection)
        pair.step(choose(env, setup.game, rng))
        rewards = [env.rewards[agent] for agent in env.possible_agents]
        assert rewards[0] + rewards[1] == 0 and rewards == rewards[:2] * (len(rewards) // 2)
        rewards_in_all = [a + b for a, b in zip(rewards_in_all, rewards, strict=True)]
        sheet = env.snapshot()["last_deal"]
        if sheet is not None and setup.game != "bazzica" and setup.options["deck_cards"] is None:
            assert sum(sheet["points"]) == 11 and sum(sheet["thirds"]) == 32
    snapshot = env.snapshot()
    assert snapshot["over"] and cards_of(snapshot) == reference.cards and snapshot["hands"] == [[]] * SEATS[setup.game]
    lead = snapshot["score"][0] - snapshot["score"][1]
    if setup.options["reward"] == "win":
        lead = {None: 0, 0: 1, 1: -1}[snapshot["winner"]]
    assert rewards_in_all[:2] == [lead, -lead]


# --- copies go on like the original --------------------------------------------------------------------------------------


def by_state(env: AECEnv, setup: Setup) -> AECEnv:
    """The game in a fresh environment, by its bytes."""
    other = setup.env()
    other.set_state(env.get_state())
    return other


def by_state_in_use(env: AECEnv, setup: Setup) -> AECEnv:
    """The game in an environment that was playing another one, by its bytes."""
    other = setup.env()
    other.reset(
        seed=setup.seed // 2, options={"deck": [random.Random(1).sample(deck, len(deck)) for deck in [env_cards(env)] * 3]}
    )
    for _ in range(setup.steps // 2):
        if not is_over(other):
            other.step(int(other.action_masks().argmax()))
    other.set_state(env.get_state())
    return other


def env_cards(env: AECEnv) -> list[int]:
    """The cards of the game."""
    return cards_of(env.snapshot())


COPIES: dict[str, Callable[[AECEnv, Setup], AECEnv]] = {
    "clone": lambda env, setup: env.clone(),
    "deepcopy": lambda env, setup: copy.deepcopy(env),
    "pickle": lambda env, setup: pickle.loads(pickle.dumps(env)),
    "set_state": by_state,
    "set_state in use": by_state_in_use,
}


@pytest.mark.parametrize("way", COPIES)
@EXAMPLES
@given(setups())
def test_copy_goes_on_identically(way: str, setup: Setup) -> None:
    env, _ = setup.at_moment()
    state = env.get_state()
    shown, last_rewards = view(env), dict(env._cumulative_rewards)
    other = COPIES[way](env, setup)
    assert other is not env and other.get_state() == state
    if "set_state" not in way:  # which starts with rewards of zero
        assert view(other) == shown and other._cumulative_rewards == last_rewards
    else:
        assert not any(other.rewards.values()) and not any(other._cumulative_rewards.values())
    assert (other.snapshot(), other.events(), other.events(-1)) == (env.snapshot(), env.events(), env.events(-1))
    rest = rest_of(other, setup.game, setup.choices)
    assert view(env) == shown, "playing on with the copy changed the original"
    assert rest_of(env, setup.game, setup.choices) == rest
    if rest:
        assert other.snapshot() == env.snapshot() and other.events(-1) == env.events(-1)
    # And past the end: the next games of both are the same.
    assert (env.reset(), other.reset()) == (None, None)
    assert view(env) == view(other)


@pytest.mark.parametrize("way", ["clone", "deepcopy", "pickle"])
@pytest.mark.parametrize("game", GAMES)
def test_copy_of_an_environment_not_yet_reset(game: str, way: str) -> None:
    env = make_env(game, {})
    other = COPIES[way](env, Setup(game, {}, 0, 0, 0, 0))
    env.reset(seed=3)
    other.reset(seed=3)
    assert view(env) == view(other)


@EXAMPLES
@given(setups(decks=0))
def test_state_goes_on_in_a_batch_row(setup: Setup) -> None:
    """A state saved by the AEC environment goes on in a BatchEnv as it does there, and back."""
    env, rng = setup.at_moment()
    if is_over(env):
        return
    batch = BatchEnv(setup.game, 3, **setup.options)
    others = batch.observation[[0, 2]].copy()
    batch.set_state(1, env.get_state())
    assert batch.get_state(1) == env.get_state()
    assert np.array_equal(batch.observation[[0, 2]], others)
    for _ in range(REST):
        compare_row(env, batch, 1)
        action = choose(env, setup.game, rng)
        actions = [int(batch.action_mask[i].argmax()) for i in range(3)]
        actions[1] = action
        rewards, dones = batch.step(np.array(actions))
        env.step(action)
        compare_step(env, rewards[1], dones[1], batch.final_score[1])
        if dones[1]:
            env.reset()
            compare_row(env, batch, 1)
            return


# --- the same seed gives the same game -----------------------------------------------------------------------------------


def compare_row(env: AECEnv, batch: BatchEnv, row: int) -> None:
    """An environment and a row of a batch show the same position."""
    seat = env.possible_agents.index(env.agent_selection)
    shown = env.observe(env.agent_selection)
    assert batch.seat[row] == seat
    assert np.array_equal(batch.observation[row], shown["observation"])
    assert np.array_equal(batch.action_mask[row], shown["action_mask"])
    assert np.array_equal(batch.action_mask[row], env.action_masks())


def compare_step(env: AECEnv, reward: Any, done: bool, score: Any) -> None:
    """An environment and a row of a batch say the same of a step."""
    assert reward.tolist() == [env.rewards["player_0"], env.rewards["player_1"]]
    assert done == is_over(env)
    if done:
        assert score.tolist() == env.snapshot()["score"]


@EXAMPLES
@given(setups(steps=400))
def test_aec_and_batch_play_the_same_games(setup: Setup) -> None:
    """Game after game, and after a reset without a seed in the middle of one."""
    rng = random.Random(setup.choices)
    seeds = [setup.seed, 0, (setup.seed + 1) % 2**63]
    batch = BatchEnv(setup.game, 3, seed=seeds, **setup.options)
    envs = [setup.env() for _ in seeds]
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed)
    for step in range(setup.steps + 50):
        for row, env in enumerate(envs):
            compare_row(env, batch, row)
        actions = [choose(env, setup.game, rng) for env in envs]
        rewards, dones = batch.step(np.array(actions, rng.choice([np.int64, np.uint8, np.int32])))
        for row, env in enumerate(envs):
            env.step(actions[row])
            compare_step(env, rewards[row], dones[row], batch.final_score[row])
            if dones[row]:
                env.reset()
        if step == setup.steps // 2:
            batch.reset()
            for env in envs:
                env.reset()


@EXAMPLES
@given(setups(decks=0))
def test_seed_of_a_batch_counts_up(setup: Setup) -> None:
    """Row i of a batch with one seed is the game of seed + i; `reset` with a seed starts it again."""
    seed = setup.seed % 2**62
    batch = BatchEnv(setup.game, 4, seed=seed, **setup.options)
    env = setup.env()
    for _ in range(2):
        for row in range(4):
            env.reset(seed=seed + row)
            compare_row(env, batch, row)
        for _ in range(setup.steps):
            batch.step(batch.action_mask.argmax(axis=1))
        batch.reset(seed)


def dealt_by(env: AECEnv, game: str, choices: int) -> Iterator[tuple[int, list[int]]]:
    """Plays a match at random; dealer and deck of each deal."""
    rng, number = random.Random(choices), 0
    while not is_over(env):
        if env._single.states[0]["deal_number"] != number:  # a snapshot at each step would take most of the time
            snapshot = env.snapshot()
            number = snapshot["deal_number"]
            yield snapshot["dealer"], deck_of(snapshot)
        env.step(choose(env, game, rng))


@EXAMPLES
@given(setups(), st.integers(0, 2**32))
def test_deck_list_continues_from_the_seed(setup: Setup, other_choices: int) -> None:
    """After the decks given come those that the seed has for these deals, whatever the decks were and whatever was played."""
    setup = setup._replace(options=setup.options | {"episode": "match", "target": 60})
    with_list = list(dealt_by(setup.start(), setup.game, setup.choices))
    without = list(dealt_by(setup._replace(decks=0).start(), setup.game, other_choices))
    deals = min(len(with_list), len(without))
    assert deals > setup.decks
    assert [dealer for dealer, _ in with_list[:deals]] == [dealer for dealer, _ in without[:deals]]
    assert with_list[setup.decks : deals] == without[setup.decks : deals]
    decks = [deck for _, deck in without[:deals]]
    assert len({tuple(deck) for deck in decks}) == deals or len(decks[0]) < 40


@pytest.mark.parametrize("game", GAMES)
def test_seeds_differ(game: str) -> None:
    """Seed 0 is a seed, neighbours give other games, and all dealers are drawn."""
    decks, dealers = [], []
    for seed in range(200):
        env = make_env(game, {})
        env.reset(seed=seed)
        decks.append(tuple(deck_of(env.snapshot())))
        dealers.append(env.snapshot()["dealer"])
        env.reset(seed=seed)
        assert tuple(deck_of(env.snapshot())) == decks[-1]
    assert len(set(decks)) == 200
    assert all(dealers.count(seat) > 100 / SEATS[game] for seat in range(SEATS[game]))


@pytest.mark.parametrize("game", GAMES)
def test_shuffles_are_uniform(game: str) -> None:
    """Every card comes to every place about equally often, over many games of one stream."""
    env = make_env(game, {"episode": "deal"})
    env.reset(seed=11)
    counts, games = np.zeros((40, 3), int), 4000  # by card: first hand dealt, second, the rest
    for _ in range(games):
        snapshot = env.snapshot()
        seats = SEATS[game]
        first, second = (snapshot["hands"][(snapshot["dealer"] + k) % seats] for k in (1, 2))
        counts[first, 0] += 1
        counts[second, 1] += 1
        rest = [card for card in range(40) if card not in first and card not in second]
        counts[rest, 2] += 1
        env.reset()
    sizes = np.array([len(first), len(second), 40 - len(first) - len(second)])
    expected = games * sizes / 40
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = 39 * 2
    assert chi_square < freedom + 6 * (2 * freedom) ** 0.5


# --- sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_record_is_flat_and_small(game: str) -> None:
    """No padding, so that a record's fields are all its bytes; and within the size that makes it fast."""
    dtype = REGISTRY[game].dtype
    assert dtype.fields is not None
    used = 0
    for name in sorted(dtype.fields, key=lambda name: dtype.fields[name][1]):
        field, offset = dtype.fields[name][:2]
        assert offset == used, f"padding before {name}"
        assert offset % field.base.itemsize == 0, f"{name} is not aligned"
        assert field.base.kind in "iu", f"{name} is no integer"
        used += field.itemsize
    assert used == dtype.itemsize, "padding at the end"
    assert dtype.itemsize <= MAX_STATE
    assert BatchEnv(game, 1).state_bytes == dtype.itemsize


@pytest.mark.parametrize("game", GAMES)
def test_observation_row_is_small(game: str) -> None:
    batch = BatchEnv(game, 2)
    assert batch.observation.shape == (2, batch.obs_size) and batch.obs_size <= MAX_ROW[game]
    assert batch.observation.dtype == np.int8
