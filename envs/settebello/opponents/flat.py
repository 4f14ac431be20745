"""Search over sampled worlds: the candidates are tried in the same worlds, and played out, or valued after one move."""

import math
from typing import Any, Final

import numpy as np

from settebello.bits import advance, mix
from settebello.game import fill_unknown, observe, plausibility, play_out, prepare, step, write_mask, write_state
from settebello.jit import call, kernel

MAX_ACTIONS: Final = 128
NO_VALUE: Final = -1e9  # of an action that is not legal
UNIT: Final = 2.0**-32

# Records of scratch space.
DRAWN: Final = 0
REPLAYED: Final = 1
WORLD: Final = 2
PLAYED: Final = 3
NUM_SCRATCH: Final = 4


@kernel
def hash_record(words: Any, seed: Any) -> Any:
    """A stream word that depends on every byte of a record (viewed as uint64) and on a seed."""
    result = mix(np.uint64(seed))
    for i in range(len(words)):
        result = mix(advance(result) ^ words[i])
    return result


@kernel
def only_action(states: Any) -> int:
    """The legal action of the seat to move of the first record if there is no other, else -1."""
    mask8 = np.zeros(MAX_ACTIONS, np.int8)
    write_mask(states[0], mask8.view(np.uint64))
    only = np.int64(-1)
    for action in range(MAX_ACTIONS):
        if mask8[action]:
            if only >= 0:
                return -1
            only = np.int64(action)
    return only


@kernel
def best_action(values: Any, expected: int) -> int:
    """The action of the highest value; between equals ``expected`` if it is one of them, else the first."""
    best = np.int64(expected)
    for action in range(len(values)):
        if values[action] > values[best]:
            best = np.int64(action)
    return best


@kernel
def best_by_play_out(states: Any, values: Any, policy: Any, utility: Any, word: Any) -> int:
    """The action of the highest value for the first of full records; between equals the one that brings most in a play-out by a
    policy, then what the policy plays.

    Against perfect play equals are equal; against anybody else they need not be.
    """
    state = states[0]
    expected = np.int64(call(policy, state, word))
    highest = values.max()
    sign = 1.0 if state["turn"] % 2 == 0 else -1.0
    played = states[:1].copy()
    best = np.int64(-1)
    most = 0.0
    for action in range(len(values)):
        if values[action] == highest:
            played[0] = state
            outcome = sign * play_out(played[0], action, policy, 1, utility, word)
            if best < 0 or outcome > most or (outcome == most and action == expected):
                best = np.int64(action)
                most = outcome
    return best


@kernel
def only_world(known: Any, seat: int, tables: Any, scratch: Any, word: Any) -> Any:
    """The one world that agrees with a redacted record of an open game, in an array of records that begins with it."""
    prepare(known[0], seat, tables[0])
    scratch[WORLD] = known[0]
    fill_unknown(scratch[WORLD], seat, tables[0], word)
    return scratch[WORLD:]


@kernel
def draw_world(known: Any, seat: int, tries: int, doubt: float, policy: Any, tables: Any, scratch: Any, word: Any) -> Any:
    """Put into ``scratch[WORLD]`` a world that agrees with a redacted record; returns the stream word.

    It is one of ``tries`` uniform ones, kept with a chance in proportion to how plausible the play of the others is in it
    (sampling importance resampling; Rubin 1987).
    """
    total = 0.0
    for k in range(tries):
        scratch[DRAWN] = known[0]
        word = fill_unknown(scratch[DRAWN], seat, tables[0], word)
        weight = 1.0
        if tries > 1:
            word = advance(word)
            scratch[REPLAYED] = scratch[DRAWN]
            weight = plausibility(scratch[DRAWN], scratch[REPLAYED], seat, doubt, policy, word)
        total += weight
        word = advance(word)
        # The first is kept for now whatever its weight: with no doubt allowed all may weigh nothing.
        if k == 0 or np.float64(mix(word) >> np.uint64(32)) * UNIT * total < weight:
            scratch[WORLD] = scratch[DRAWN]
    return word


@kernel
def flat_search(
    known: Any,
    seat: int,
    worlds: int,
    tries: int,
    doubt: float,
    caution: float,
    horizon: int,
    tables: Any,
    scratch: Any,
    utility: Any,
    policy: Any,
    values: Any,
    word: Any,
) -> int:
    """The action whose play-outs are worth most to the side of the seat to move, which has a choice.

    Sequential halving (Karnin, Koren and Somekh 2013): in each round all candidates left are played out in the same worlds,
    then the worse half is dropped. The play-outs are one to two times as many as if each candidate were played out in
    ``worlds`` worlds: all rounds but the last share that budget, and the last, of two, takes as much as each of them.

    Args:
        known: array of one record redacted for the seat to move.
        seat: that seat.
        worlds, tries, doubt, caution, horizon: see ``SearchParameters``.
        tables: array of one record, scratch space of ``prepare``.
        scratch: array of NUM_SCRATCH records with the options of ``known``.
        utility: see ``settebello.utility``.
        policy: see ``play_out``.
        values: float64 ``(num_actions,)``, filled with mean worths to the seat's side; NO_VALUE where not legal.
        word: of the random stream.
    """
    mask8 = np.zeros(MAX_ACTIONS, np.int8)
    write_mask(known[0], mask8.view(np.uint64))
    base = np.int64(call(policy, known[0], word))
    alive = np.empty(MAX_ACTIONS, np.int64)
    gains = np.zeros(MAX_ACTIONS, np.float64)
    squares = np.zeros(MAX_ACTIONS, np.float64)
    count = np.int64(0)
    for action in range(len(values)):
        values[action] = NO_VALUE
        if mask8[action] and action != base:
            alive[count] = action
            count += 1
    sign = 1.0 if seat % 2 == 0 else -1.0
    rounds = np.int64(1)
    while np.int64(1) << rounds < count:
        rounds += 1
    budget = worlds * (count + 1)
    played = np.int64(0)
    base_total = 0.0
    prepare(known[0], seat, tables[0])
    while True:
        more = max(np.int64(1), budget // (rounds * (count + 1)))
        for _ in range(more):
            word = draw_world(known, seat, tries, doubt, policy, tables, scratch, word)
            word = advance(word)
            scratch[PLAYED] = scratch[WORLD]
            base_worth = sign * play_out(scratch[PLAYED], base, policy, horizon, utility, word)
            base_total += base_worth
            for k in range(count):
                scratch[PLAYED] = scratch[WORLD]
                gain = sign * play_out(scratch[PLAYED], alive[k], policy, horizon, utility, word) - base_worth
                gains[alive[k]] += gain
                squares[alive[k]] += gain * gain
        played += more
        for k in range(count):
            values[alive[k]] = gains[alive[k]] / played
        for k in range(1, count):  # best first
            action = alive[k]
            j = k
            while j > 0 and values[alive[j - 1]] < values[action]:
                alive[j] = alive[j - 1]
                j -= 1
            alive[j] = action
        if count == 1:
            break
        count = (count + 1) // 2
    best = base
    bound = 0.0
    for k in range(count):
        action = alive[k]
        mean = values[action]
        variance = max(0.0, squares[action] / played - mean * mean) / played
        if mean - caution * math.sqrt(variance) > bound:
            bound = mean - caution * math.sqrt(variance)
            best = action
    values[base] = 0.0
    for action in range(len(values)):
        if mask8[action]:
            values[action] += base_total / played
    return best


@kernel
def show_known(known: Any, seat: int, row8: Any, row64: Any, mask64: Any) -> None:
    """Write observation and mask of a seat for the first of redacted records."""
    observe(known[0], seat, row8, row64)
    write_mask(known[0], mask64)


@kernel
def look_one_ahead(
    known: Any,
    seat: int,
    worlds: int,
    tries: int,
    doubt: float,
    tables: Any,
    scratch: Any,
    policy: Any,
    actions: Any,
    states: Any,
    plays_out: bool,
    to_the_end: bool,
    utility: Any,
    outcomes: Any,
    word: Any,
) -> None:
    """Put into ``states[w * len(actions) + k]`` the w-th sampled world after the k-th action; see ``draw_world``.

    Args:
        plays_out: whether each is played out by the policy, in bazzica for the rest of the hand.
        to_the_end: whether each is played out, and ``states`` are as that leaves them, not as the actions do.
        utility: see ``play_out``.
        outcomes: float64 ``(len(states),)``, filled with what the play-outs are worth to the seat's side.
    """
    prepare(known[0], seat, tables[0])
    sign = 1.0 if seat % 2 == 0 else -1.0
    place = np.int64(0)
    for _ in range(worlds):
        word = draw_world(known, seat, tries, doubt, policy, tables, scratch, word)
        for k in range(len(actions)):
            states[place] = scratch[WORLD]
            if to_the_end:
                outcomes[place] = sign * play_out(states[place], actions[k], policy, 1, utility, word)
            else:
                states[place]["single_deal"] = 1
                step(states[place], actions[k])
                if plays_out:
                    scratch[PLAYED] = scratch[WORLD]
                    outcomes[place] = sign * play_out(scratch[PLAYED], actions[k], policy, 1, utility, word)
            place += 1


@kernel
def critic_rows(states: Any, places: Any, rows8: Any, rows64: Any, seats: Any) -> None:
    """Write for the critic the row of each state at these places, as its seat to move sees it, and that seat."""
    for k in range(len(places)):
        state = states[places[k]]
        seats[k] = state["turn"]
        write_state(state, np.int64(state["turn"]), rows8[k], rows64[k])
