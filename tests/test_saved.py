"""Saved bytes that are not what they should be: a StateError and nothing changed, or a game that can be played to its end."""

import random
import signal
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from settebello import BatchEnv
from settebello.aec import AECEnv
from settebello.errors import StateError
from settebello.game import GAMES as REGISTRY
from settebello.saved import unpack
from tests.engine import CHOICES, GAMES, cards_of, choose_any, make_env, random_deck

HEADER = struct.Struct("<8sHH16sIII")  # magic, format, game version, game id, bytes of the record, decks to come, CRC-32
HEADER_FIELDS = ("magic", "format", "version", "game", "size", "decks", "checksum")
FLIPS, FIELD_CHANGES = 1500, 3000  # by game
FLIPS_LONG, FIELD_CHANGES_LONG = 200_000, 400_000
MAX_STEPS = 20_000
SECONDS = 60  # a hang, on any machine

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "tressette-2p": [
        {"target": 5, "napoletana": True},
        {"target": 5, "reward": "points"},
        {"episode": "deal", "napoletana": True},
    ],
    "tressette-4p": [
        {"target": 5, "napoletana": True},
        {"target": 5, "reward": "points"},
        {"episode": "deal", "napoletana": True},
    ],
    "bazzica": [
        {"target": 5},
        {"target": 5, "reward": "points", "low_sum_max": 9},
        {"episode": "deal", "last_card_scopa": True},
    ],
}
SMALL = {
    "deck_cards": [10 * suit + rank for suit in range(4) for rank in range(3)],
    "hand_size": 3,
    "napoletana": True,
    "target": 3,
}
OTHER_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "tressette-2p": [{"target": 6}, {"napoletana": True}, {"episode": "deal"}, {"reward": "points"}, {"hand_size": 11}, SMALL],
    "tressette-4p": [{"target": 6}, {"napoletana": True}, {"episode": "deal"}, {"reward": "points"}],
    "bazzica": [
        *({"target": 6}, {"episode": "deal"}, {"reward": "points"}, {"low_sum_max": 9}, {"last_card_scopa": True}),
        {"declaration_points": {"pariglia": 2, "meno_di_nove": 2, "pariglia_meno_di_nove": 3, "bazzicotto": 7}},
    ],
}


# --- bytes and positions -------------------------------------------------------------------------------------------------


def packed(data: bytes, **fields: Any) -> bytes:
    """Saved bytes with other header fields; with the right checksum unless it is one of them."""
    values = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True)) | {"checksum": zlib.crc32(data[HEADER.size :])}
    return HEADER.pack(*(values | fields).values()) + data[HEADER.size :]


def start(env: AECEnv, game: str, options: dict[str, Any], rng: random.Random, decks: int = 0) -> None:
    """Start a match, with so many decks given."""
    cards = options.get("deck_cards", range(40))
    env.reset(seed=rng.randrange(2**40), options={"deck": [random_deck(game, cards, rng) for _ in range(decks)] or None})


def choose(env: AECEnv, game: str, rng: random.Random) -> int:
    """A legal action."""
    return rng.choice(CHOICES[game])(rng, env.action_masks().nonzero()[0].tolist())


def is_over(env: AECEnv) -> bool:
    """Whether the game is over."""
    return any(env.terminations.values())


def moments(game: str, options: dict[str, Any], number: int, seed: str) -> list[bytes]:
    """Saved bytes of so many moments of random matches, ends among them."""
    rng, env, result = random.Random(seed), make_env(game, options), []
    while len(result) < number:
        start(env, game, options, rng, decks=rng.choice([0, 0, 1, 3]))
        every = rng.choice([3, 7, 12])
        while not is_over(env):
            if rng.randrange(every) == 0:
                result.append(env.get_state())
            env.step(choose(env, game, rng))
        result.append(env.get_state())
    rng.shuffle(result)
    return result[:number]


def all_of(env: AECEnv) -> tuple[Any, ...]:
    """All that an environment holds and shows."""
    observation = {agent: env.observe(agent)["observation"].tobytes() for agent in env.possible_agents}
    masks = {agent: env.infos[agent]["action_mask"].tobytes() for agent in env.possible_agents}
    fields = (env.agents, env.rewards, env._cumulative_rewards, env.terminations, env.truncations, env.agent_selection)
    return (
        env.state().tobytes(),
        env.get_state(),
        env.snapshot(),
        env.events(),
        env.events(-1),
        observation,
        masks,
        repr(fields),
    )


@contextmanager
def limited_time() -> Iterator[None]:
    """An error instead of an endless loop (one in compiled code is not ended by it)."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(env: AECEnv, data: Any, match: str | None = None) -> None:
    """Whether bytes are refused and leave everything as it was."""
    before = all_of(env)
    with limited_time(), pytest.raises(StateError, match=match):
        env.set_state(data)
    assert all_of(env) == before


def middle_of(game: str, options: dict[str, Any], steps: int = 30, decks: int = 0) -> AECEnv:
    """An environment in the middle of a match, seat 1 to move."""
    env, rng = make_env(game, options), random.Random(f"{game} {steps}")
    start(env, game, options, rng, decks)
    while steps > 0 or env.agent_selection != "player_1":
        env.step(choose_any(rng, env.action_masks().nonzero()[0].tolist()))
        steps -= 1
    env.clone().set_state(env.get_state())  # compiles the check: that takes longer than any bytes may
    return env


# --- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("decks", [0, 3])
def test_truncated_or_longer(game: str, decks: int) -> None:
    env = middle_of(game, {}, decks=decks)
    data = env.get_state()
    for size in [*range(0, len(data), 5), len(data) - 2, len(data) - 1]:
        refused(env, data[:size])
        refused(env, packed(data[: max(size, HEADER.size)]))
    for more in (b"\0", b"\1\0", data, bytes(1000)):
        refused(env, data + more)
        refused(env, packed(data + more))
    env.set_state(bytearray(data))
    env.set_state(memoryview(data))


@pytest.mark.parametrize("game", GAMES)
def test_not_bytes(game: str) -> None:
    env = middle_of(game, {})
    for data in (None, 3, "SETTEBEL", [], env.snapshot(), env.get_state().hex(), np.zeros(3)):
        refused(env, data)
    refused(env, b"")


@pytest.mark.parametrize("game", GAMES)
def test_foreign_game(game: str) -> None:
    env = middle_of(game, {})
    for other in GAMES:
        if other != game:
            data = middle_of(other, {}).get_state()
            refused(env, data, match=other)
            refused(env, packed(data, game=game.encode()))  # the name alone does not make it one


@pytest.mark.parametrize("game", GAMES)
def test_other_version(game: str) -> None:
    env = middle_of(game, {})
    data = env.get_state()
    version = REGISTRY[game].version
    for other in (version + 1, version + 256, 0xFFFF):
        refused(env, packed(data, version=other), match="version")
    for form in (0, 2, 0xFFFF):
        refused(env, packed(data, format=form), match="format")


@pytest.mark.parametrize("game", GAMES)
def test_other_options(game: str) -> None:
    env = middle_of(game, {}, decks=2)
    for options in OTHER_OPTIONS[game]:
        refused(env, middle_of(game, options, steps=3).get_state())
        other = middle_of(game, options, steps=3)
        refused(other, env.get_state())
    same = {"declaration_points": {"pariglia": 1}} if game == "bazzica" else {}
    env.set_state(middle_of(game, same).get_state())


@pytest.mark.parametrize("game", GAMES)
def test_decks_to_come(game: str) -> None:
    env = middle_of(game, {}, steps=5, decks=3)
    data = env.get_state()
    body, decks = data[: -2 * 41], data[-2 * 41 :]
    assert decks[0] == decks[41] == 40
    for number in (0, 1, 3, 4, 41, 256, 2**16, 2**32 - 1):
        refused(env, packed(data, decks=number))
    card_twice = body + decks[:3] + decks[2:3] + decks[4:]
    no_card = body + decks[:-1] + bytes([40])
    shorter = body + bytes([39]) + decks[1:40] + decks[41:]
    for damaged in (card_twice, no_card, shorter, body + decks[41:], body + bytes(2 * 41), body + bytes(2)):
        refused(env, packed(damaged))
    env.set_state(packed(body + decks[41:], decks=1))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("decks", [0, 2])
def test_every_header_byte(game: str, decks: int) -> None:
    env = middle_of(game, {}, decks=decks)
    data = env.get_state()
    for at in range(HEADER.size):
        for flip in (1, 2, 16, 128, 255):
            damaged = bytearray(data)
            damaged[at] ^= flip
            refused(env, bytes(damaged))


@pytest.mark.parametrize("game", GAMES)
def test_a_flipped_bit_is_noticed(game: str) -> None:
    env = middle_of(game, {})
    data = env.get_state()
    for at in range(HEADER.size, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        refused(env, bytes(damaged), match="damaged")


@pytest.mark.parametrize("game", GAMES)
def test_an_environment_not_yet_reset(game: str) -> None:
    """Refused bytes leave it without a game; good ones start it."""
    env = make_env(game, {})
    data = middle_of(game, {}).get_state()
    with pytest.raises(StateError):
        env.set_state(data[:-1])
    with pytest.raises(AttributeError):
        env.snapshot()
    env.set_state(data)
    assert env.get_state() == data


@pytest.mark.parametrize("game", GAMES)
def test_batch_rows(game: str) -> None:
    """A BatchEnv refuses the same, and a game that is over or has decks to come, and leaves all rows as they were."""
    batch = BatchEnv(game, 3, seed=4)
    for _ in range(20):
        batch.step(batch.action_mask.argmax(axis=1))
    env = middle_of(game, {})
    data = env.get_state()
    with_decks = middle_of(game, {}, steps=5, decks=2).get_state()
    other = next(other for other in GAMES if other != game)
    ended = make_env(game, {})
    ended.reset(seed=1)
    while not is_over(ended):
        ended.step(int(ended.action_masks().argmax()))
    flipped = bytearray(data)
    flipped[-1] ^= 1
    wrong = [b"", data[:-1], data + b"\0", bytes(flipped), packed(data, version=99), with_decks, ended.get_state()]
    wrong += [middle_of(other, {}).get_state(), middle_of(game, OTHER_OPTIONS[game][0]).get_state()]
    arrays = (batch.observation, batch.action_mask, batch.seat)
    for damaged in wrong:
        before = [array.tobytes() for array in arrays] + [batch.get_state(row) for row in range(3)]
        with pytest.raises(StateError):
            batch.set_state(1, damaged)
        assert before == [array.tobytes() for array in arrays] + [batch.get_state(row) for row in range(3)]
    batch.set_state(1, data)
    assert batch.get_state(1) == data


# --- fuzz ----------------------------------------------------------------------------------------------------------------


def play_on(env: AECEnv, game: str, rng: random.Random, cards: list[int]) -> None:
    """Play to the end: there is always something to do, no card is lost, and every view can be had."""
    for step in range(MAX_STEPS):
        over = is_over(env)
        if over or step < 2 or step % 8 == 0:
            check_views(env, cards, rng)
        if step == 0 and not over and rng.random() < 0.2:
            check_world(env, rng)
        if over:
            return
        env.step(choose(env, game, rng))
        rewards = list(env.rewards.values())
        assert rewards[0] + rewards[1] == 0
    raise AssertionError("no end")


def check_views(env: AECEnv, cards: list[int], rng: random.Random) -> None:
    """No card is lost, and all that is shown is within its bounds."""
    snapshot = env.snapshot()
    assert cards_of(snapshot) == cards
    assert snapshot["over"] == is_over(env) == (snapshot["turn"] is None)
    assert env.events()[0]["kind"] == "deal" and isinstance(env.events(-1), list)
    game = REGISTRY[snapshot["game"]]
    seat = rng.randrange(game.num_seats)
    observation = env.observe(f"player_{seat}")
    assert observation["action_mask"].any() == (seat == snapshot["turn"])
    for row, (low, high) in ((observation["observation"], game.bounds()), (env.state(), game.bounds(state=True))):
        assert (low <= row).all() and (row <= high).all()


def check_world(env: AECEnv, rng: random.Random) -> None:
    """A world that agrees with what a seat knows can be drawn, and shows the same."""
    information = env.information(rng.randrange(len(env.possible_agents)))
    world = information.sample_world(np.random.default_rng(rng.randrange(2**30)))
    game = REGISTRY[information.game]
    states, _ = unpack(game, information.options.record(), world)
    assert game.events(states[0], 0) == env.events() == information.events()
    assert cards_of(game.snapshot(states[0])) == cards_of(env.snapshot())


def try_out(
    env: AECEnv, game: str, cards: list[int], data: bytes, what: str, rng: random.Random, outcomes: Counter[str]
) -> None:
    """Damaged bytes: refused with nothing changed, or a game that can be played to its end."""
    before = env.get_state()
    try:
        env.set_state(data)
    except StateError:
        outcomes["refused"] += 1
        if outcomes["refused"] % 50 == 0:
            assert env.get_state() == before
        return
    outcomes["taken"] += 1
    try:
        play_on(env, game, rng, cards)
    except Exception as error:
        raise AssertionError(f"{what}: taken, and then {type(error).__name__}: {error}\n{data.hex()}") from error


def flipped(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """One to three flipped bits, or one byte replaced, in the body; the checksum is right."""
    damaged = bytearray(data)
    places = rng.sample(range(HEADER.size, len(data)), rng.choice([1, 1, 1, 2, 3]))
    for at in places:
        damaged[at] = rng.choice([damaged[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    return packed(bytes(damaged)), f"bytes {places} changed"


def with_field_changed(game: str, data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """One or two numbers of the record replaced by near, extreme or random ones; the checksum is right."""
    dtype = REGISTRY[game].dtype
    record = np.frombuffer(data[HEADER.size : HEADER.size + dtype.itemsize], dtype).copy()
    changes = []
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice([name for name in dtype.names or () if name not in REGISTRY[game].option_fields])
        numbers = record[name].reshape(-1)
        at = rng.randrange(numbers.size)
        limits = np.iinfo(numbers.dtype)
        old = int(numbers[at])
        new = rng.choice(
            [
                old + 1,
                old - 1,
                0,
                1,
                -1,
                2,
                3,
                4,
                40,
                255,
                limits.max,
                limits.min,
                old ^ 1 << rng.randrange(8 * numbers.itemsize),
            ]
        )
        numbers[at] = np.array(new % 2 ** (8 * numbers.itemsize), np.uint64).astype(numbers.dtype)
        record[name] = numbers.reshape(record[name].shape)
        changes.append((name, at, old, int(numbers[at])))
    return packed(data[: HEADER.size] + record.tobytes() + data[HEADER.size + dtype.itemsize :]), f"fields changed: {changes}"


def fuzz(game: str, flips: int, field_changes: int, seed: str) -> None:
    rng = random.Random(f"{seed} {game}")
    outcomes: Counter[str] = Counter()
    for options in OPTIONS[game] + [SMALL] * (game == "tressette-2p"):
        env = make_env(game, options)
        saved = moments(game, options, 150, f"{seed} {game} {options}")
        env.set_state(saved[0])
        cards = cards_of(env.snapshot())
        share = len(OPTIONS[game])
        for _ in range(flips // share):
            data, what = flipped(rng.choice(saved), rng)
            try_out(env, game, cards, data, what, rng, outcomes)
        for _ in range(field_changes // share):
            data, what = with_field_changed(game, rng.choice(saved), rng)
            try_out(env, game, cards, data, what, rng, outcomes)
        for data in saved:
            env.set_state(data)
            assert env.get_state() == data
            play_on(env, game, rng, cards)
    assert outcomes["refused"] > outcomes["taken"] > 100, outcomes


@pytest.mark.parametrize("game", GAMES)
def test_fuzz(game: str) -> None:
    fuzz(game, FLIPS, FIELD_CHANGES, "fuzz")


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_fuzz_long(game: str) -> None:
    fuzz(game, FLIPS_LONG, FIELD_CHANGES_LONG, "long fuzz")
