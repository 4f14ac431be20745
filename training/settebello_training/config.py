"""The settings of a training run: a frozen dataclass that checks itself, to and from JSON."""

import dataclasses
import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from settebello.errors import OptionError
from settebello.opponents.exported import MAX_WIDTH

SUITS_AND_REST: Final = 5  # a hidden layer's width has a fifth for each equal suit, and what is left for everything else
MAX_SEED: Final = 2**20 - 1
# Each environment of each run has its own seed, seed * 2**20 + row, below 2**40. Evaluations are played in the arena, whose
# deals have seeds from 2**62 on: nothing is measured on deals that anything was trained on.
SEEDS_PER_RUN: Final = 2**20
MAX_DEALS: Final = 2**32  # of one arena seed
MATCH_FIELDS: Final = ("option_deal", "option_points", "score", "target", "deal_number")
OWN_OPTIONS: Final = ("episode", "reward", "illegal", "seed")  # environment arguments that the trainer sets itself


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of one training run.

    The schedules run linearly from their first value to the one named ``*_end`` over the whole budget.

    Attributes:
        game: "tressette-2p", "tressette-4p" or "bazzica".
        seed: 0..2**20-1; the deals, the first weights and every draw follow from it.
        minutes: budget in minutes of wall-clock time of the training, measurements not counted, or None. Where only decisions
            are given, commands take None.
        decisions: budget in decisions (one move of one seat), or None. With both, the one reached first ends the run.
        episode: "deal" or "match", as the environment's option.
        reward: "points" or "win", as the environment's option; "equity", for matches: each deal is worth twice what it adds to
            the chance to win the match (``settebello.match_equity``), so that a match is worth about -1 to 1.
        options: further options of the game, for example ``{"napoletana": True}``.
        reward_scale: factor on rewards, so that returns are about -1..1. 0: what fits the reward, 0.1 for points, else 1.
        num_envs: games played side by side; several processes share them, so it is a multiple of their number.
        rollout_steps: moves of each game per update.
        epochs: passes over the collected decisions per update.
        minibatch: decisions per optimiser step, of all processes together.
        hidden: widths of the hidden layers, of the policy and of the critic; a fifth of each is for each equal suit.
        critic: "all": advantages come from a second network that sees all hands, in training only; "own": from the policy's
            own value.
        exact_endings: two-player Tressette, episodes of one deal: a deal ends when the stock is empty, with the exact result,
            both in training and in evaluations. Nothing elsewhere.
        guide_coef, guide_coef_end: weight of a second policy gradient, over all legal actions, whose worths come from playing
            each out in the game at hand by the rules of thumb of "medium"; 0: none.
        guide_decisions: at first, for so many decisions, the policy's logits learn these worths (and values are learnt) and
            nothing else; they count towards the budget.
        guide_temperature: points that make an action e times as probable then.
        guide_horizon: bazzica: hands that are played out for it; the rest of the deal is estimated.
        pool_share: share of the games in which one side is played by one of the pool; 1 with a single level and pool_size 0:
            a best response to that level.
        pool_levels: opponents in the pool, as commands take them: levels, paths of trained ones, ``module:function``.
        pool_size: older selves in the pool, at most.
        pool_interval: updates between two of them.
        average: decay per update of the averaged weights, which are what is measured and exported; 0: the last weights.
        lr, lr_end: learning rate of Adam.
        clip: PPO's bound on how far the probability ratio may leave 1.
        gamma: discount per own decision. Deals are short: 1.
        lam: lambda of generalised advantage estimation.
        ent_coef, ent_coef_end: weight of the entropy.
        vf_coef: weight of the value loss.
        max_grad_norm: bound on the norm of the gradient.
        threads: CPU threads of torch in each process; 0 shares out the cores that may be used.
        checkpoint_minutes: minutes between checkpoints.
        evaluations: how often the learning curve is measured, evenly over the budget.
        curve_levels: opponents that the curve is measured against, as commands take them.
        curve_deals: mirrored deals (episode="match": matches) of each of those measurements, the same ones each time.
        keep_best: the weights that did best on the curve, over all its opponents, are what is kept; else the last ones. In
            points per deal; with episode="match" in matches won.
        final_levels: opponents of the final evaluation, as commands take them.
        eval_deals: mirrored deals (matches) of the final evaluation against each of them.
        greedy: whether evaluations play the most probable card instead of drawing one.
        tensorboard: whether scalars are written for tensorboard.
    """

    game: str = "tressette-2p"
    seed: int = 0
    minutes: float | None = 4.0
    decisions: int | None = None
    episode: str = "deal"
    reward: str = "points"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    reward_scale: float = 0.0
    num_envs: int = 512
    rollout_steps: int = 40
    epochs: int = 2
    minibatch: int = 1024
    hidden: tuple[int, ...] = (320, 320)
    critic: str = "all"
    exact_endings: bool = True
    guide_coef: float = 0.0
    guide_coef_end: float = 0.0
    guide_decisions: int = 0
    guide_temperature: float = 0.2
    guide_horizon: int = 1
    pool_share: float = 0.0
    pool_levels: tuple[str, ...] = ()
    pool_size: int = 8
    pool_interval: int = 20
    average: float = 0.0
    lr: float = 2e-3
    lr_end: float = 1e-4
    clip: float = 0.1
    gamma: float = 1.0
    lam: float = 0.95
    ent_coef: float = 0.05
    ent_coef_end: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    threads: int = 0
    checkpoint_minutes: float = 1.0
    evaluations: int = 12
    curve_levels: tuple[str, ...] = ("random",)
    curve_deals: int = 500
    keep_best: bool = False
    final_levels: tuple[str, ...] = ("random", "easy", "medium")
    eval_deals: int = 10_000
    greedy: bool = True
    tensorboard: bool = True

    def __post_init__(self) -> None:
        for name in ("game", "episode", "reward"):
            if not isinstance(getattr(self, name), str):
                raise OptionError(f"{name}={getattr(self, name)!r}: expected text")
        for name, low, high in _INTS:
            self._check_int(name, low, high)
        if self.decisions is not None:
            self._check_int("decisions", 1, 2**62)
        for name, low_bound, high_bound in _FLOATS:
            self._check_float(name, low_bound, high_bound)
        if self.minutes is not None:
            self._check_float("minutes", 0.0, 1e6)
        if self.minutes is None and self.decisions is None:
            raise OptionError("minutes=None, decisions=None: a run needs a budget, set one of them")
        for name in ("greedy", "tensorboard", "exact_endings", "keep_best"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name}={getattr(self, name)!r}: allowed are True, False")
        try:
            hidden = tuple(self.hidden)
        except TypeError as error:
            raise OptionError(f"hidden={self.hidden!r}: expected a list of layer widths") from error
        if not hidden or not all(type(width) is int and SUITS_AND_REST <= width <= MAX_WIDTH for width in hidden):
            raise OptionError(f"hidden={self.hidden!r}: expected a list of layer widths from {SUITS_AND_REST} to {MAX_WIDTH}")
        object.__setattr__(self, "hidden", hidden)
        if self.reward not in ("points", "win", "equity"):
            raise OptionError(f"reward={self.reward!r}: allowed are 'points', 'win', 'equity'")
        if self.reward == "equity" and self.episode != "match":
            raise OptionError(f"reward='equity', episode={self.episode!r}: expected episode='match', whose chances it is about")
        if self.reward_scale == 0:
            object.__setattr__(self, "reward_scale", 0.1 if self.reward == "points" else 1.0)
        if self.critic not in ("all", "own"):
            raise OptionError(f"critic={self.critic!r}: allowed are 'all', 'own'")
        for name in ("pool_levels", "curve_levels", "final_levels"):
            self._check_texts(name)
        for name in ("curve_levels", "final_levels"):
            if not getattr(self, name):
                raise OptionError(f"{name}=[]: expected at least one opponent (evaluations=0 measures no curve)")
        if self.pool_share > 0 and not self.pool_levels and not self.pool_size:
            raise OptionError(
                f"pool_share={self.pool_share:g}, pool_levels=[], pool_size=0: expected somebody in the pool, or pool_share=0"
            )
        if self.keep_best and not self.evaluations:
            raise OptionError("keep_best=True, evaluations=0: expected a curve for the best to be chosen by")
        if not isinstance(self.options, Mapping) or not all(isinstance(name, str) for name in self.options):
            raise OptionError(f"options={self.options!r}: expected the game's options by name")
        other = sorted(set(self.options) - {"target", "napoletana"})
        if self.reward == "equity" and other:
            raise OptionError(f"reward='equity', options[{other[0]!r}]: chances are known for target and napoletana only")
        for name in OWN_OPTIONS:
            if name in self.options:
                hint = "the trainer sets it" if name == "illegal" else f"set {name!r} beside options, not inside"
                raise OptionError(f"options[{name!r}]: {hint}")
        object.__setattr__(self, "options", dict(sorted(self.options.items())))

    def _check_int(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise OptionError(f"{name}={value!r}: expected a whole number from {low} to {high}")

    def _check_float(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:  # NaN is in no range
            raise OptionError(f"{name}={value!r}: expected a number from {low:g} to {high:g}")
        object.__setattr__(self, name, float(value))

    def _check_texts(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise OptionError(f"{name}={value!r}: expected a list of opponents as text, for example ['medium']")
        object.__setattr__(self, name, tuple(value))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """A configuration from names and values; with decisions and no minutes, these are None.

        Raises:
            OptionError: a name is unknown (a near one is suggested) or its value is not allowed.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in names:
                near = difflib.get_close_matches(str(name), names, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise OptionError(f"unknown setting {name!r}{hint} (settings: {', '.join(names)})")
        if values.get("decisions") is not None and "minutes" not in values:
            values = {**values, "minutes": None}
        return cls(**values)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """A configuration from a JSON file that holds one object.

        Raises:
            OptionError: the file cannot be read, is not JSON, or holds a setting that is unknown or not allowed.
        """
        return cls.from_dict(read_settings(path))

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values that JSON can hold; ``from_dict`` takes them back."""
        values = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def training_seeds(self) -> range:
        """Seed of each training environment; the ranges of two runs do not overlap, and all lie below the arena's seeds."""
        return range(self.seed * SEEDS_PER_RUN, self.seed * SEEDS_PER_RUN + self.num_envs)

    @property
    def training_options(self) -> dict[str, Any]:
        """Arguments of the training BatchEnv."""
        reward = "win" if self.reward == "equity" else self.reward  # the trainer puts its own in place of it
        return dict(self.options) | {"episode": self.episode, "reward": reward}

    @property
    def settles(self) -> bool:
        """Whether deals end where the rest can be computed."""
        return self.exact_endings and self.game == "tressette-2p" and self.episode == "deal"

    @property
    def ignored(self) -> tuple[str, ...]:
        """Parts of the observation that tell nothing in training: who learns single deals must not look at the match, whose
        score would be news in play.
        """
        return MATCH_FIELDS if self.episode == "deal" else ()

    @property
    def exploits(self) -> str | None:
        """The opponent that a run learns to beat and nothing else: it plays one side of every game. None: there is none."""
        alone = self.pool_share == 1 and self.pool_size == 0 and len(self.pool_levels) == 1
        return self.pool_levels[0] if alone else None

    @property
    def num_threads(self) -> int:
        """CPU threads for torch in each process."""
        return self.threads or available_cores()


_INTS: Final = (
    ("seed", 0, MAX_SEED),
    ("num_envs", 1, SEEDS_PER_RUN),
    ("rollout_steps", 1, 100_000),
    ("epochs", 1, 1000),
    ("minibatch", 1, 2**31),
    ("threads", 0, 4096),
    ("guide_horizon", 1, 6),
    ("guide_decisions", 0, 2**62),
    ("pool_size", 0, 1000),
    ("pool_interval", 1, 2**31),
    ("evaluations", 0, 100_000),
    ("curve_deals", 2, MAX_DEALS),
    ("eval_deals", 2, MAX_DEALS),
)
_FLOATS: Final = (
    ("reward_scale", 0.0, 1e9),
    ("lr", 0.0, 10.0),
    ("lr_end", 0.0, 10.0),
    ("clip", 1e-6, 10.0),
    ("gamma", 0.0, 1.0),
    ("lam", 0.0, 1.0),
    ("ent_coef", 0.0, 1e3),
    ("ent_coef_end", 0.0, 1e3),
    ("vf_coef", 0.0, 1e3),
    ("guide_coef", 0.0, 1e3),
    ("guide_temperature", 1e-3, 1e3),
    ("guide_coef_end", 0.0, 1e3),
    ("max_grad_norm", 1e-9, 1e9),
    ("pool_share", 0.0, 1.0),
    ("average", 0.0, 0.99999),
    ("checkpoint_minutes", 0.0, 1e6),
)


def available_cores() -> int:
    """Cores this process may use, at least one; the processes that ``torchrun`` starts on a machine share them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def read_settings(path: Path) -> dict[str, Any]:
    """The JSON object in a configuration file, unchecked.

    Raises:
        OptionError: the file cannot be read or does not hold a JSON object.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"config file {path}: {error}") from error
    if not isinstance(values, dict):
        raise OptionError(f"config file {path}: expected a JSON object of settings, got {type(values).__name__}")
    return values


_AS_JSON: Final = {"True": "true", "False": "false", "None": "null"}  # as error messages and Python write them


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of ``name=value``; the value is read as JSON where it is JSON, as text otherwise.

    ``options.NAME=value`` gives the name ``options`` and the value ``{NAME: value}``.

    Raises:
        OptionError: there is no ``=`` or no name.
    """
    name, equals, written = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise OptionError(f"setting {text!r}: expected name=value, for example lr=0.0003")
    try:
        value = json.loads(_AS_JSON.get(written, written))
    except ValueError:
        value = written
    group, dot, option = name.partition(".")
    if dot and group == "options":
        return group, {option: value}
    return name, value


def merge_settings(values: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others on top; the game's ``options`` are merged one by one."""
    merged = {**values, **more}
    if isinstance(values.get("options"), Mapping) and isinstance(more.get("options"), Mapping):
        merged["options"] = {**values["options"], **more["options"]}
    return merged
