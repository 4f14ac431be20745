"""The engine as the worked cases want it, and engine and reference playing the same match side by side."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from settebello import bazzica_v0, tressette_v0
from settebello.aec import AECEnv
from tests.reference.bazzica import DECLARE, PICK, RE_DI_DENARI, SETTEBELLO, BazzicaReference
from tests.reference.tressette import TressetteReference

Reference = TressetteReference | BazzicaReference
Snapshot = dict[str, Any]

GAMES = ("tressette-2p", "tressette-4p", "bazzica")
SEATS = {"tressette-2p": 2, "tressette-4p": 4, "bazzica": 2}
MAX_STEPS = 100_000  # no match is that long: an engine that never ends must not hang the tests
FIRST_ANNOUNCEMENT = 80  # bazzica: from here on baptisms and the declaration


def make_env(game: str, options: dict[str, Any]) -> AECEnv:
    """The environment of a game by its id."""
    if game == "bazzica":
        return bazzica_v0.env(**options)
    return tressette_v0.env(players=SEATS[game], **options)


def make_reference(game: str, options: dict[str, Any]) -> Reference:
    """The reference of a game by its id."""
    return BazzicaReference(**options) if game == "bazzica" else TressetteReference(players=SEATS[game], **options)


class Engine:
    """The environment of a game with the interface of `tests.worked_cases.Adapter`."""

    def __init__(self, game: str, options: dict[str, Any]) -> None:
        self.env = make_env(game, options)

    @property
    def turn(self) -> int | None:
        """The seat to move, None when the game is over."""
        agent = self.env.agent_selection
        return None if self.env.terminations[agent] else self.env.possible_agents.index(agent)

    def start(self, decks: Sequence[Sequence[int]], dealer: int, score: Sequence[int] = (0, 0), seed: int = 0) -> None:
        """Start a match; after the decks given the seed goes on."""
        self.env.reset(seed=seed, options={"deck": list(decks) or None, "dealer": dealer, "score": score})

    def legal_actions(self) -> list[int]:
        """The legal actions of the seat to move, by the mask."""
        legal: list[int] = self.env.action_masks().nonzero()[0].tolist()
        return legal

    def step(self, action: int) -> list[int]:
        """Take an action; the step's reward by side."""
        self.env.step(action)
        rewards = list(self.env.rewards.values())
        assert rewards == rewards[:2] * (len(rewards) // 2), f"partners get different rewards: {rewards}"
        return rewards[:2]

    def snapshot(self) -> Snapshot:
        """The whole truth."""
        return self.env.snapshot()

    def events(self) -> list[dict[str, Any]]:
        """The register of the deal on the table."""
        return self.env.events()

    def last_events(self) -> list[dict[str, Any]]:
        """The register of the deal counted last."""
        return self.env.events(-1)


def deck_of(snapshot: Snapshot) -> list[int]:
    """A deck that gives the deal just dealt; the order inside a hand and on the table is lost, and decides nothing."""
    seats = len(snapshot["hands"])
    dealt = [snapshot["hands"][(snapshot["dealer"] + 1 + k) % seats] for k in range(seats)]
    table = [[card for card, _ in snapshot.get("table", [])]]
    return [card for part in [*dealt, *table, snapshot["stock"]] for card in part]


def cards_of(snapshot: Snapshot) -> list[int]:
    """Every card of the deal, wherever it lies, sorted."""
    found = snapshot["stock"] + [card for pile in snapshot["hands"] + snapshot["taken"] for card in pile]
    if snapshot["game"] == "bazzica":
        found += [card for card, _ in snapshot["table"]] + [card for card in [snapshot["pending"]] if card is not None]
    else:
        found += [card for _, card in snapshot["trick"]]
    return sorted(found)


def is_plain(value: Any) -> bool:
    """Whether a value is made of Python's own ints, strings, bools, None, lists and dicts, and nothing of NumPy's."""
    if type(value) is dict:
        return all(type(key) in (int, str) and is_plain(entry) for key, entry in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return value is None or type(value) in (int, str, bool)


# --- side by side --------------------------------------------------------------------------------------------------------


class DifferenceError(AssertionError):
    """Engine and reference disagree."""


class SideBySide:
    """An engine and a reference that play the same match.

    Everything is compared at the start and after each step: seat to move, legal actions, snapshot, rewards, register of this
    deal and of the last one.

    Attributes:
        seen: how often things happened in the matches so far, by name; read off the reference.
    """

    def __init__(self, game: str, options: dict[str, Any]) -> None:
        self.game = game
        self.options = options
        self.engine = Engine(game, options)
        self.reference = make_reference(game, options)
        self.seen: Counter[str] = Counter()

    def start(self, seed: int, decks: Sequence[Sequence[int]], dealer: int, score: Sequence[int] = (0, 0)) -> None:
        """Start a match in both and compare them. The deals after the decks given are those the engine makes of its seed."""
        self._given = {"seed": seed, "decks": list(decks), "dealer": dealer, "score": list(score)}
        self._actions: list[int] = []
        self.engine.start(decks, dealer, score, seed)

        def deck(number: int) -> Sequence[int]:
            snapshot = self.engine.snapshot()
            self._same(
                "number of the deal and whether it ended the game", [snapshot["deal_number"], snapshot["over"]], [number, False]
            )
            return decks[number - 1] if number <= len(decks) else deck_of(snapshot)

        self.reference.start(deck, dealer, score)
        self._compare([0, 0], list(self.engine.env.rewards.values())[:2])

    def step(self, action: int) -> None:
        """Take an action in both and compare them."""
        self._actions.append(action)
        sheet = self.reference.last_deal
        found = self.engine.step(action)
        expected = self.reference.step(action)
        self._compare(expected, found)
        if self.reference.last_deal is not sheet:
            self._tally_deal()
        elif self.game == "bazzica" and len(self.reference.candidates) > 1:  # type: ignore[union-attr]
            self.seen["choice" if action < PICK else "second pick"] += 1

    def _compare(self, expected_rewards: list[int], rewards: list[int]) -> None:
        engine, reference = self.engine, self.reference
        self._same("seat to move", engine.turn, reference.turn)
        self._same("legal actions", engine.legal_actions(), reference.legal_actions())
        self._same("rewards", rewards, expected_rewards)
        self._same("snapshot", engine.snapshot(), reference.snapshot())
        # The reference's own lists: its methods copy them deeply, which is slow.
        self._same("events of this deal", engine.events(), reference._events)
        self._same("events of the last deal", engine.last_events(), reference._last_events)

    def _same(self, what: str, found: Any, expected: Any) -> None:
        if found == expected:
            return
        if isinstance(found, dict) and found.keys() == expected.keys():  # show what differs only
            found, expected = ({key: side[key] for key in side if found[key] != expected[key]} for side in (found, expected))
        elif isinstance(found, list) and len(found) > 10:
            same = next((k for k, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]), len(expected))
            what, found, expected = f"{what} from number {same} on", found[same:], expected[same:]
        at = f"{self.game} {self.options}, {self._given}, actions {self._actions}"
        raise DifferenceError(f"{what}: the engine says {found}, the reference {expected}\nafter {at}")

    # What happened, to know that a run of random matches reached it.

    def _tally_deal(self) -> None:
        seen, reference = self.seen, self.reference
        seen["deals"] += 1
        if not reference.over and max(reference.score) >= self.options.get("target", 31 if self.game == "bazzica" else 21):
            seen["level past the target"] += 1
        if reference.over:
            seen["matches"] += 1
            seen["no winner"] += reference.winner is None
        events = reference._last_events
        for event in events:
            seen[event["kind"]] += 1
        if isinstance(reference, BazzicaReference):
            self._tally_bazzica(events)
        else:
            for before, event in pairwise(events):
                if event["kind"] == "napoletana":
                    seen[f"napoletana after {before['kind']}"] += 1
            seen["two napoletane"] += sum(event["kind"] == "napoletana" for event in events) > 1
            led = 0
            for event in events:
                led = event["card"] // 10 if event["kind"] == "lead" else led
                seen["discard"] += event["kind"] == "follow" and event["card"] // 10 != led

    def _tally_bazzica(self, events: list[dict[str, Any]]) -> None:
        seen = self.seen
        values = {card: card % 10 + 1 for card in range(40)}
        baptised: set[int] = set()
        for event in events:
            if event["kind"] == "declare":
                seen[event["value"]] += 1
            elif event["kind"] == "baptise":
                values[event["card"]] = event["value"]
                baptised.add(event["card"])
            elif event["kind"] == "capture":
                value = values[event["card"]]
                if any(card in baptised for card in [event["card"], *event["cards"]]):
                    seen["capture with a baptised card"] += 1
                if len(event["cards"]) > 1:
                    is_sum = sum(values[card] for card in event["cards"]) == value
                    seen["sum" if is_sum else "subtraction"] += 1
        seen["both jollies baptised"] += len(baptised) == 2
        last = max(k for k, event in enumerate(events) if event["kind"] == "play")
        seen["scopa by the last card"] += any(event["kind"] == "scopa" for event in events[last:])
        seen["nobody captured"] += not any(event["kind"] == "capture" for event in events)
        sheet = self.reference.last_deal
        assert sheet is not None
        for item in ("carte", "denari", "primiera"):
            seen[f"nobody gets {item}"] += sheet[item] is None


# --- random matches ------------------------------------------------------------------------------------------------------

Choose = Callable[[random.Random, list[int]], int]


def choose_any(rng: random.Random, legal: list[int]) -> int:
    """Any legal action."""
    return rng.choice(legal)


def choose_saving(rng: random.Random, legal: list[int]) -> int:
    """Tressette: keeps aces, twos and threes while it can, so that napoletane come together."""
    return rng.choice([card for card in legal if card % 10 > 2] or legal)


def choose_announcing(rng: random.Random, legal: list[int]) -> int:
    """Bazzica: baptises and declares whenever it can."""
    baptisms = [action for action in legal if FIRST_ANNOUNCEMENT <= action < DECLARE]
    declaration = [action for action in legal if action == DECLARE]
    return rng.choice(baptisms or declaration or legal)


def choose_baptising(rng: random.Random, legal: list[int]) -> int:
    """Bazzica: baptises whenever it can, and then does anything."""
    return rng.choice([action for action in legal if FIRST_ANNOUNCEMENT <= action < DECLARE] or legal)


CHOICES: dict[str, tuple[Choose, ...]] = {
    "tressette-2p": (choose_any, choose_saving),
    "tressette-4p": (choose_any, choose_saving),
    "bazzica": (choose_any, choose_announcing, choose_announcing, choose_baptising),
}


def random_deck(game: str, cards: Sequence[int], rng: random.Random) -> list[int]:
    """A shuffled deck; now and then stacked, so that what is rare happens."""
    deck = rng.sample(cards, len(cards))
    if rng.random() < 0.7:
        return deck

    def bring(card: int, place: int) -> None:
        at = deck.index(card)
        deck[at], deck[place] = deck[place], deck[at]

    if game == "bazzica":  # both jollies in one hand
        start = rng.choice([0, 3, *range(10, 40, 3)])
        for jolly, place in zip((SETTEBELLO, RE_DI_DENARI), rng.sample(range(start, start + 3), 2), strict=True):
            bring(jolly, place)
    elif len(cards) == 40:  # two or three trios in one hand
        trios = [10 * suit + k for suit in rng.sample(range(4), rng.choice([2, 3])) for k in range(3)]
        for card, place in zip(trios, rng.sample(range(10), len(trios)), strict=True):
            bring(card, place)
    return deck


def random_score(target: int, rng: random.Random) -> list[int]:
    """A score to start from: mostly 0-0, else anything about level, now and then past the target."""
    if rng.random() < 0.6:
        return [0, 0]
    points = rng.randrange(max(0, target - 12), target + 4)
    return [points, max(0, points + rng.randrange(-4, 5))]


def play_random_match(pair: SideBySide, rng: random.Random) -> None:
    """One whole match of random actions, compared at every step. Decks are given for none, some or all of its deals."""
    reference, game = pair.reference, pair.game
    decks = [random_deck(game, reference.cards, rng) for _ in range(rng.choice([0, 1, 2, 5, 20]))]
    score = random_score(reference.options["target"], rng)
    pair.start(rng.randrange(2**40), decks, rng.randrange(reference.seats), score)
    choices = [rng.choice(CHOICES[game]) for _ in range(reference.seats)]
    for _ in range(MAX_STEPS):
        if reference.turn is None:
            return
        pair.step(choices[reference.turn](rng, reference.legal_actions()))
    raise AssertionError(f"no end after {MAX_STEPS} steps: {game} {pair.options}")
