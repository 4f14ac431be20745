"""The whole table as text, as a player of one seat or a spectator sees it.

What is drawn comes from a snapshot and a register of events alone, so that it shows what they hold and nothing else.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from settebello.bazzica.options import BazzicaOptions
from settebello.bazzica.state import DECLARATION_NAMES, DECLARATION_POINTS, LOW_SUM_MAX, NUM_HANDS
from settebello.cards import SUIT_NAMES, card_text, rank_of, suit_of
from settebello.errors import OptionError
from settebello.game import get_game
from settebello.options import Options, check_choice
from settebello.render.words import BADGES, LANGUAGES, Words
from settebello.tressette.options import TressetteOptions
from settebello.tressette.rules import NAPOLETANA_POINTS, STRENGTH, WORTH, side_of

WIDTH: Final = 80  # of every line
INNER: Final = WIDTH - 4  # between the frame's sides
GAP: Final = 2  # between columns
MAX_NAME: Final = 16

Lines = list[str]
Event = Mapping[str, Any]

_NOTHING: Final = "–"  # in a table
_CARD: Final = re.compile(r"\b[A2-7FCR]([dcsb])\b(?:=\d+)?")
_SUIT_COLOURS: Final = {"d": "33", "c": "31", "s": "94", "b": "32"}


def render(
    snapshot: Mapping[str, Any],
    events: Iterable[Event] = (),
    *,
    language: str = "en",
    colour: bool = False,
    options: Options | None = None,
    names: Sequence[str] | None = None,
    matches: Sequence[int] | None = None,
) -> str:
    """The table as text in a frame, 80 columns wide.

    Args:
        snapshot: an environment's (a spectator sees all hands) or an information's (a player sees its own).
        events: the register of the deal on the table, as ``events()`` gives it.
        language: ``it``, ``en`` or ``fr``.
        colour: colour the cards by suit, with terminal codes.
        options: the game's options, to show its target and what else was agreed.
        names: what to call each seat; ``player_0``.. by default.
        matches: matches won by each side, to show them.

    Raises:
        OptionError: unknown language, game or kind of event; names or matches of the wrong number; a name that cannot be
            printed on one line.
    """
    check_choice("language", language, tuple(LANGUAGES))
    scene = _scene(snapshot, list(events), LANGUAGES[language], options, names, matches)
    sections = _bazzica_sections(scene) if scene.is_bazzica else _tressette_sections(scene)
    text = _frame(_heading(scene), [section for section in sections if section[1]])
    return _coloured(text) if colour else text


# --- what is drawn ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Scene:
    """What one rendering is made from."""

    snapshot: Mapping[str, Any]
    events: Sequence[Event]
    words: Words
    options: Options | None
    names: Sequence[str]
    matches: Sequence[int] | None
    viewer_seat: int | None  # None for a spectator

    @property
    def is_bazzica(self) -> bool:
        return bool(self.snapshot["game"] == "bazzica")

    @property
    def seats(self) -> range:
        return range(len(self.names))

    @property
    def counted(self) -> bool:
        """Whether the deal on the table is over and counted: no card is left in any hand."""
        return bool(self.snapshot["over"]) and not any(map(_hand_size, self.snapshot["hands"]))

    @property
    def sides(self) -> list[range]:
        """The seats of each side."""
        return [self.seats[side::2] for side in range(2)]

    def side_name(self, side: int) -> str:
        return " + ".join(self.names[seat] for seat in self.sides[side])

    def label(self, seat: int) -> str:
        """A seat's name, saying whether it is the one that looks."""
        return f"{self.names[seat]} ({self.words.you})" if seat == self.viewer_seat else self.names[seat]

    def side_label(self, side: int) -> str:
        return " + ".join(map(self.label, self.sides[side]))

    def card(self, card: int) -> str:
        """Short form of a card, with its given value when it is baptised."""
        value = self.snapshot.get("baptised", {}).get(card)
        return card_text(card) if value is None else f"{card_text(card)}={value}"

    def cards(self, cards: Iterable[int]) -> str:
        return " ".join(map(self.card, cards))


def _scene(
    snapshot: Mapping[str, Any],
    events: Sequence[Event],
    words: Words,
    options: Options | None,
    names: Sequence[str] | None,
    matches: Sequence[int] | None,
) -> _Scene:
    game = get_game(snapshot["game"])
    names = game.agents if names is None else list(names)
    if len(names) != game.num_seats:
        raise OptionError(f"names={names!r}: {game.id} has {game.num_seats} seats")
    for name in names:
        if not name.strip() or not name.isprintable():
            raise OptionError(f"names={names!r}: {name!r} cannot be printed on one line")
    names = [name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…" for name in names]
    if matches is not None and len(matches) != 2:
        raise OptionError(f"matches={matches!r}: expected the matches won by each of two sides")
    open_seats = [seat for seat, hand in enumerate(snapshot["hands"]) if not isinstance(hand, Mapping)]
    viewer_seat = open_seats[0] if len(open_seats) == 1 else None
    return _Scene(snapshot, events, words, options, names, matches, viewer_seat)


def _hand_size(hand: Any) -> int:
    return int(hand["size"]) if isinstance(hand, Mapping) else len(hand)


def _stock_size(scene: _Scene) -> int:
    stock = scene.snapshot["stock"]
    return int(stock) if isinstance(stock, int) else len(stock)


def _points(thirds: int) -> str:
    """Thirds of a point as points: 13 is 4⅓."""
    whole, rest = divmod(thirds, 3)
    return f"{whole or ''}{'⅓⅔'[rest - 1]}" if rest else str(whole)


# --- parts of both games ---------------------------------------------------------------------------------------------------


def _heading(scene: _Scene) -> tuple[str, str]:
    snapshot, words = scene.snapshot, scene.words
    title = getattr(words, snapshot["game"].replace("-", "_"))
    deal = words.deal.format(number=snapshot["deal_number"])
    if scene.is_bazzica:
        part = words.hand.format(number=snapshot["hand_number"], total=NUM_HANDS)
    else:
        in_tricks = sum(map(len, snapshot["taken"]))
        total = in_tricks + sum(map(_hand_size, snapshot["hands"])) + _stock_size(scene) + len(snapshot["trick"])
        number = min(in_tricks // len(scene.seats) + 1, total // len(scene.seats))
        part = words.trick_number.format(number=number, total=total // len(scene.seats))
    return title, f"{deal} · {part}"


def _agreed(scene: _Scene) -> list[str]:
    """How long the game goes on, and what else the options say where that is not the default."""
    options, words = scene.options, scene.words
    if options is None:
        return []
    agreed = [words.single_deal if options.episode == "deal" else words.target.format(number=options.target)]
    if isinstance(options, TressetteOptions) and options.napoletana:
        agreed.append(words.with_napoletana)
    if isinstance(options, BazzicaOptions):
        if options.low_sum_max != LOW_SUM_MAX:
            agreed.append(f"{words.low_sum_max} {options.low_sum_max}")
        if options.last_card_scopa:
            agreed.append(words.last_card_scopa)
    return agreed


def _standing(scene: _Scene) -> Lines:
    """Where the deal stands, and who is to act."""
    snapshot, words = scene.snapshot, scene.words
    opener = (snapshot["dealer"] + 1) % len(scene.seats)
    if snapshot["over"]:
        winner = words.nobody if snapshot["winner"] is None else scene.side_label(snapshot["winner"])
        groups = [[(words.winner, winner)]]
    else:
        groups = [[(words.turn, scene.label(snapshot["turn"]))]]
    groups.append([(words.opener, scene.label(opener)), (words.dealer, scene.label(snapshot["dealer"]))])
    left = []
    if not snapshot["over"] and scene.is_bazzica:
        hands = NUM_HANDS + 1 - snapshot["hand_number"]
        left.append((words.hands_left, f"1, {words.ultima_mano}" if hands == 1 else str(hands)))
    if len(scene.seats) == 2:
        left.append((words.deck_left, str(_stock_size(scene))))
    groups.append(left)
    texts = [" · ".join(label + words.colon + value for label, value in group) for group in groups]
    return [line for text in [*texts, " · ".join(_agreed(scene))] for line in _wrap(text, INNER)]


def _score(scene: _Scene) -> Lines:
    """What each side has: match points, matches won, cards taken, then what the game counts."""
    snapshot, words = scene.snapshot, scene.words
    rows = [(words.match_points, [str(points) for points in snapshot["score"]])]
    if scene.matches is not None:
        rows.append((words.matches, [str(won) for won in scene.matches]))
    rows.append((words.cards_taken, [str(len(cards)) for cards in snapshot["taken"]]))
    if scene.is_bazzica:
        rows.append((words.scope, [str(scope) for scope in snapshot["scope"]]))
        rows.append((words.declared, [_NOTHING if name is None else BADGES[name] for name in snapshot["declared"]]))
    else:
        rows.append((words.points_taken, [_points(sum(int(WORTH[card]) for card in cards)) for cards in snapshot["taken"]]))
    return _by_side(scene, rows)


def _by_side(scene: _Scene, rows: Sequence[tuple[str, Sequence[str]]]) -> Lines:
    """A column for each side under the names of its seats, a row for each item."""
    heads = [("", names) for names in zip(*([scene.label(seat) for seat in side] for side in scene.sides), strict=True)]
    width = max(len(item) for item, _ in rows) + 2 * GAP
    return [f"{item:<{width}}{first:<{INNER // 3}}{second}".rstrip() for item, (first, second) in [*heads, *rows]]


def _declaration(name: str) -> str:
    return name.replace("_", " ")


def _declaration_points(options: Options | None) -> Mapping[str, int]:
    """Points of each declaration; without options those of the default."""
    if isinstance(options, BazzicaOptions) and options.declaration_points is not None:
        return options.declaration_points
    return dict(zip(DECLARATION_NAMES, DECLARATION_POINTS, strict=True))


def _hands(scene: _Scene, show: Callable[[Iterable[int]], str], known: Sequence[Iterable[int]]) -> Lines:
    """Each hand: its cards, or those known of it and how many are hidden; then what all know of an open hand."""
    snapshot, words = scene.snapshot, scene.words
    pairs = []
    for seat in scene.seats:
        hand = snapshot["hands"][seat]
        mark = "▶ " if seat == snapshot["turn"] else "  "
        shown = "" if isinstance(hand, Mapping) else show(known[seat])
        if isinstance(hand, Mapping):
            hidden = hand["size"] - len(hand["known"])
            parts = [show(hand["known"]), words.hidden.format(number=hidden) if hidden else ""]
            text = " · ".join(part for part in parts if part)
        else:
            text = show(hand)
        pairs.append((mark + scene.label(seat), text or _NOTHING))
        if shown:
            pairs.append(("", words.shown.format(cards=shown)))
    return _pairs(pairs)


def _taken(scene: _Scene, show: Callable[[Iterable[int]], str]) -> Lines:
    if not any(scene.snapshot["taken"]):
        return []
    return _pairs([(scene.side_label(side), show(scene.snapshot["taken"][side]) or _NOTHING) for side in range(2)])


def _deck_order(scene: _Scene) -> Lines:
    """The stock in draw order, where it is known: to a spectator."""
    stock = scene.snapshot["stock"]
    return [] if isinstance(stock, int) else _wrap(scene.cards(stock), INNER)


def _sheet(scene: _Scene) -> tuple[str, Lines]:
    """The count of the deal counted last, item by item."""
    sheet, words = scene.snapshot["last_deal"], scene.words
    if sheet is None:
        return "", []
    number = scene.snapshot["deal_number"] - (0 if scene.counted else 1)
    rows = _bazzica_sheet(sheet, words) if scene.is_bazzica else _tressette_sheet(sheet, words)
    return words.sheet.format(number=number), _by_side(scene, rows)


def _register(scene: _Scene) -> Lines:
    """The numbered register, in two columns read downwards."""
    width = (INNER - GAP - 1) // 2
    entries: Lines = []
    for number, text in enumerate(_entries(scene), 1):
        first, *more = _wrap(text, width - 4) or [""]
        entries += [f"{number:>2}. {first}", *(f"    {line}" for line in more)]
    half = -(-len(entries) // 2)
    left, right = entries[:half], entries[half:] + [""] * (len(entries) % 2)
    return [f"{a:<{width}}{' ' * GAP} {b}".rstrip() for a, b in zip(left, right, strict=True)]


def _entries(scene: _Scene) -> Iterator[str]:
    """The lines of the register: a play and what it took are one."""
    for event, following in zip_longest(scene.events, scene.events[1:]):
        if event["kind"] != "capture":
            yield _entry(scene, event, following)


def _entry(scene: _Scene, event: Event, following: Event | None) -> str:
    words = scene.words
    facts: dict[str, Any] = {"points": event.get("points")}
    if event.get("seat") is not None:
        facts["name"] = scene.names[event["seat"]]
    if "cards" in event:
        facts["cards"] = scene.cards(event["cards"])
    if "card" in event:
        facts["card"] = scene.card(event["card"])
    match event["kind"]:
        case "deal":
            template = words.event_deal_table if "cards" in event else words.event_deal
        case "lead" | "follow" | "trick" | "draw" | "scopa" | "sweep":
            template = getattr(words, f"event_{event['kind']}")
        case "napoletana":
            template = words.event_napoletana
            facts["suit"] = SUIT_NAMES[suit_of(event["cards"][0])]
        case "play":
            template = words.event_play
            rank_value = int(rank_of(event["card"])) + 1
            facts["card"] = card_text(event["card"]) + ("" if event["value"] == rank_value else f"={event['value']}")
            if following is not None and following["kind"] == "capture":
                template = words.event_play_capture
                facts["cards"] = scene.cards(following["cards"])
            elif following is None and scene.snapshot["pending"] == event["card"]:
                template = words.event_play_pending
        case "declare":
            template = words.event_declare
            facts["declaration"] = _declaration(event["value"])
        case "baptise":
            template = words.event_baptise
            facts |= {"card": card_text(event["card"]), "value": event["value"]}
        case "count":
            template = words.event_count
            facts["points"] = ", ".join(f"{scene.side_name(side)} {points}" for side, points in enumerate(event["points"]))
        case kind:
            raise OptionError(f"events: unknown kind {kind!r}")
    return str(template.format(**facts))


# --- Tressette -------------------------------------------------------------------------------------------------------------


def _by_suit(cards: Iterable[int]) -> str:
    """Cards suit by suit with a gap between, strongest first."""
    ordered = sorted(cards, key=lambda card: (suit_of(card), -STRENGTH[card]))
    suits: dict[int, list[str]] = {}
    for card in ordered:
        suits.setdefault(suit_of(card), []).append(card_text(card))
    return "  ".join(" ".join(texts) for texts in suits.values())


def _trick(scene: _Scene) -> Lines:
    """The cards of the trick by seat; who led, and whose card is winning."""
    snapshot, words = scene.snapshot, scene.words
    trick = snapshot["trick"]
    if not trick:
        return [] if snapshot["turn"] is None else _pairs([(scene.label(snapshot["turn"]), words.leads)])
    led_suit = suit_of(trick[0][1])
    best = max((play for play in trick if suit_of(play[1]) == led_suit), key=lambda play: STRENGTH[play[1]])
    pairs = []
    for place, (seat, card) in enumerate(trick):
        notes = [words.leads] * (place == 0) + [words.winning] * (card == best[1])
        pairs.append((scene.label(seat), " · ".join([card_text(card), *notes])))
    return _pairs(pairs)


def _napoletane(scene: _Scene) -> Lines:
    return [f"{scene.label(seat)} · {SUIT_NAMES[suit]}" for seat, suit in scene.snapshot["napoletane"]]


def _tressette_sheet(sheet: Mapping[str, Any], words: Words) -> list[tuple[str, list[str]]]:
    """Items of the count with what each side got for them."""
    napoletane = [NAPOLETANA_POINTS * sum(side_of(seat) == side for seat, _ in sheet["napoletane"]) for side in range(2)]
    rows = [
        (words.tricks, [_points(thirds) for thirds in sheet["thirds"]]),
        (words.last_trick, [_one_point(sheet["last_trick"] == side) for side in range(2)]),
    ]
    if any(napoletane):
        rows.append((words.napoletane.lower(), [str(points) for points in napoletane]))
    totals = [str(points + more) for points, more in zip(sheet["points"], napoletane, strict=True)]
    return [*rows, (words.total, totals)]


def _one_point(given: bool) -> str:
    return "1" if given else _NOTHING


def _tressette_sections(scene: _Scene) -> list[tuple[str, Lines]]:
    words = scene.words
    return [
        ("", _standing(scene)),
        (words.score, _score(scene)),
        (words.trick, _trick(scene)),
        (words.hands, _hands(scene, _by_suit, scene.snapshot["known"])),
        (words.napoletane, _napoletane(scene)),
        (words.taken, _taken(scene, _by_suit)),
        (words.deck_order, _deck_order(scene)),
        _sheet(scene),
        (words.register, _register(scene)),
        (" ", _key(scene)),
    ]


# --- Scopa-bazzica ---------------------------------------------------------------------------------------------------------


def _table(scene: _Scene) -> Lines:
    """The cards on the table; while a capture is chosen, the card played and the sets it may take."""
    snapshot, words = scene.snapshot, scene.words
    lines = _wrap(scene.cards(card for card, _ in snapshot["table"]) or words.none, INNER)
    if snapshot["pending"] is None:
        return lines
    opener, other = map(_hand_size, (snapshot["hands"][seat] for seat in (snapshot["opener"], 1 - snapshot["opener"])))
    seat = snapshot["opener"] if opener < other else 1 - snapshot["opener"]  # whose card is out; nobody is to move when over
    lines.append(words.pending.format(name=scene.label(seat), card=scene.card(snapshot["pending"])))
    for place, cards in enumerate(snapshot["candidates"]):
        lines.append(f"{words.choose if place else '':>8}  {scene.cards(cards)}")
    return lines


def _bazzica_sheet(sheet: Mapping[str, Any], words: Words) -> list[tuple[str, list[str]]]:
    """Items of the count with what each side got for them; an equal one is nobody's."""
    items = ("carte", "denari", "settebello", "primiera")
    return [
        *((getattr(words, item), [_one_point(sheet[item] == side) for side in range(2)]) for item in items),
        (words.scope, [str(scope) for scope in sheet["scope"]]),
        (words.declarations, [str(points) for points in sheet["declarations"]]),
        (words.total, [str(points) for points in sheet["points"]]),
    ]


def _bazzica_sections(scene: _Scene) -> list[tuple[str, Lines]]:
    snapshot, words = scene.snapshot, scene.words
    known = [[card for card in snapshot["baptised"] if _holds(snapshot["hands"][seat], card)] for seat in scene.seats]
    return [
        ("", _standing(scene)),
        (words.score, _score(scene)),
        (words.table, _table(scene)),
        (words.hands, _hands(scene, scene.cards, known)),
        (words.taken, _taken(scene, scene.cards)),
        (words.deck_order, _deck_order(scene)),
        _sheet(scene),
        (words.register, _register(scene)),
        (" ", _key(scene)),
    ]


def _holds(hand: Any, card: int) -> bool:
    return not isinstance(hand, Mapping) and card in hand


def _key(scene: _Scene) -> Lines:
    """What the letters of the cards mean, and which cards have another value."""
    words = scene.words
    texts = [words.key_suits, words.key_ranks]
    if scene.is_bazzica:
        texts.append(words.key_values)
        points = _declaration_points(scene.options)
        for name in DECLARATION_NAMES:
            if name in scene.snapshot["declared"]:
                facts = {"badge": BADGES[name], "declaration": _declaration(name), "points": points[name]}
                texts.append(words.key_declared.format(**facts))
        for card, value in scene.snapshot["baptised"].items():
            texts.append(words.key_baptised.format(card=scene.card(card), value=value))
    return [line for text in texts for line in _wrap(text, INNER)]


# --- layout ----------------------------------------------------------------------------------------------------------------


def _wrap(text: str, width: int) -> Lines:
    """The text in lines of at most so many columns, broken at spaces; a word that is longer is cut."""
    lines: Lines = []
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line.rstrip())
            line = word
        else:
            line = f"{line} {word}" if line or not word else word
        while len(line) > width:
            lines.append(line[:width])
            line = line[width:]
    return [*lines, line.rstrip()] if line.strip() else lines


def _pairs(pairs: Sequence[tuple[str, str]]) -> Lines:
    """Labels in one column, what they say in the next."""
    width = max(len(label) for label, _ in pairs)
    lines = []
    for label, text in pairs:
        first, *more = _wrap(text, INNER - width - GAP) or [""]
        lines += [f"{label:<{width + GAP}}{first}", *(" " * (width + GAP) + line for line in more)]
    return lines


def _frame(heading: tuple[str, str], sections: Sequence[tuple[str, Lines]]) -> str:
    """The sections in one frame, a rule with its title before each but the first."""
    left, right = heading
    lines = [f"┌─ {left} {'─' * (WIDTH - 8 - len(left) - len(right))} {right} ─┐"]
    for title, body in sections:
        if title:
            lines.append(f"├─{f' {title} ' if title.strip() else ''}".ljust(WIDTH - 1, "─") + "┤")
        lines += [f"│ {line:<{INNER}} │" for line in body]
    return "\n".join([*lines, "└" + "─" * (WIDTH - 2) + "┘"])


def _coloured(text: str) -> str:
    """The text with its cards coloured by suit and its titles bold: terminal codes only, every line as wide as before."""
    lines = []
    for line in text.split("\n"):
        if line.startswith(("┌", "├", "└")):
            lines.append(f"\x1b[1m{line}\x1b[0m")
        else:
            lines.append(_CARD.sub(lambda card: f"\x1b[{_SUIT_COLOURS[card[1]]}m{card[0]}\x1b[0m", line))
    return "\n".join(lines)
