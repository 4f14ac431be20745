"""Training on several processes: two ranks compute what one does, and whole runs under torchrun."""

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torch.multiprocessing import spawn  # noqa: E402

from settebello import BatchEnv  # noqa: E402
from settebello.errors import OptionError  # noqa: E402
from settebello_training import TrainConfig, Trainer, TrainingError, load_checkpoint  # noqa: E402
from settebello_training.clock import Clock  # noqa: E402
from settebello_training.config import available_cores  # noqa: E402
from settebello_training.network import SuitNetwork, masked_log_probs, sample  # noqa: E402
from settebello_training.ppo import Batch, ppo_update  # noqa: E402
from settebello_training.ranks import Ranks, leave, own_device  # noqa: E402

if not (dist.is_available() and dist.is_gloo_available()):
    pytest.skip("torch was built without gloo", allow_module_level=True)

TINY: dict[str, Any] = {
    "minutes": None,
    "decisions": 100_000_000,
    "num_envs": 8,
    "rollout_steps": 13,
    "minibatch": 50,
    "hidden": [16],
    "threads": 1,
    "curve_deals": 2,
    "eval_deals": 2,
    "evaluations": 1,
    "tensorboard": False,
}
AN_UPDATE = 13 * 8  # decisions
CPU = torch.device("cpu")
# How a batch of 60 decisions is shared out by two ranks, and how they learn.
GUIDED = {"guide_coef": 0.7}
WORTHS = {"worth_temperature": 0.3}
CASES: dict[str, tuple[int, dict[str, float]]] = {
    "halves": (30, {}),
    "unequal": (43, {}),
    "guided": (43, GUIDED),
    "worths": (43, WORTHS),
}


# --- two ranks, and one with all of their decisions -------------------------------------------------------------------------


def decisions() -> dict[str, torch.Tensor]:
    """60 decisions, those with the highest advantages first, so that two ranks have very different ones."""
    generator, rng = torch.Generator().manual_seed(3), np.random.default_rng(3)
    env = BatchEnv("tressette-2p", 60, seed=1, episode="deal")
    for _ in range(7):
        env.step(np.argmax(rng.random(env.action_mask.shape) * env.action_mask, axis=1))
    mask = torch.from_numpy(env.action_mask.copy())
    log_probs = masked_log_probs(torch.randn(mask.shape, generator=generator), mask)
    action = sample(log_probs, generator)
    return {
        "observation": torch.from_numpy(env.state().copy()),
        "mask": mask,
        "worth": torch.randn(mask.shape, generator=generator) * mask,
        "action": action,
        "log_prob": log_probs.gather(1, action[:, None])[:, 0],
        "advantage": torch.randn(60, generator=generator).sort(descending=True).values + 0.7,
        "target": torch.randn(60, generator=generator),
    }


def learn(batch: Batch, ranks: Ranks, guide: dict[str, float]) -> dict[str, torch.Tensor]:
    """Parameters by name, and ``metric.NAME``, after three steps of the optimiser."""
    generator = torch.Generator().manual_seed(1)
    network = SuitNetwork("tressette-2p", (20,), generator)
    critic = SuitNetwork("tressette-2p", (20,), generator, critic=True)
    optimizer = torch.optim.Adam([*network.parameters(), *critic.parameters()], lr=1e-3, eps=1e-5)
    metrics = ppo_update(
        network,
        optimizer,
        batch,
        torch.Generator().manual_seed(ranks.rank),
        Clock(),
        critic=critic,
        ranks=ranks,
        **guide,
        epochs=3,
        minibatch=60,
        clip=0.2,
        ent_coef=0.01,
        vf_coef=0.5,
        max_grad_norm=0.5,
    )
    learnt = {f"network.{name}": part.detach() for name, part in network.named_parameters()}
    learnt |= {f"critic.{name}": part.detach() for name, part in critic.named_parameters()}
    return learnt | {f"metric.{name}": torch.tensor(value) for name, value in metrics.items()}


def part_of_two(rank: int, folder: Path) -> None:
    """What each of two processes does; leaves its results in the folder."""
    meeting = f"file://{folder / 'meeting'}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2, timeout=datetime.timedelta(minutes=5))
    os.environ["WORLD_SIZE"] = "2"
    torch.set_num_threads(1)
    ranks = Ranks.join(CPU)
    own = torch.tensor([[rank, 10 * rank]])
    found = {
        "rank_and_size": torch.tensor([ranks.rank, ranks.size]),
        "share": torch.tensor(list(ranks.share(6))),
        "sum": ranks.sum(torch.tensor([1.5, rank])),
        "least": torch.tensor(ranks.least(7 - 3 * rank)),
        "from_first": ranks.from_first(torch.tensor([5.0 + rank])),
    }
    kinds = {"int": own, "bool": own > 5, "bytes": own.to(torch.uint8)}
    found |= {f"gathered.{name}": part for name, part in ranks.gather(kinds).items()}
    found |= {f"gathered_1.{name}": part for name, part in ranks.gather(kinds, 1).items()}
    whole = Batch(**load_file(folder / "decisions.safetensors"))
    for name, (first, guide) in CASES.items():
        index = torch.arange(first) if rank == 0 else torch.arange(first, 60)
        found |= {f"{name}.{key}": part for key, part in learn(whole.select(index), ranks, guide).items()}
    trainer = Trainer(TrainConfig.from_dict(TINY | {"pool_share": 0.5, "pool_levels": ["random"], "pool_size": 0}))
    found |= ranks.gather({"deals": torch.from_numpy(trainer.env.state().copy())})
    metrics = trainer.update()
    own_count = trainer.rollout.valid[2:].sum()
    found["counted"] = torch.tensor([own_count, trainer.decisions, metrics["decisions"], metrics["learnt"]])
    found |= {f"updated.{name}": part for name, part in trainer.network.state_dict().items()}
    save_file({name: part.contiguous() for name, part in found.items()}, folder / f"{rank}.safetensors")
    told = []
    for doing in (lambda: Trainer(TrainConfig.from_dict(TINY | {"num_envs": 9})), lambda: end_one(rank, ranks)):
        try:
            doing()
        except (OptionError, TrainingError) as error:
            told.append(f"{type(error).__name__}: {error}")
    leave()
    told.append(f"in a group: {dist.is_initialized()}")
    (folder / f"{rank}.json").write_text(json.dumps(told))


def end_one(rank: int, ranks: Ranks) -> None:
    """Rank 1 ends without a word; rank 0 goes on."""
    if rank == 1:
        os._exit(0)
    for _ in range(3):
        ranks.sum(torch.zeros(3))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], list[str]]:
    """What ranks 0 and 1 found, and what rank 0 was told."""
    folder = tmp_path_factory.mktemp("two")
    save_file(decisions(), folder / "decisions.safetensors")
    spawn(part_of_two, args=(folder,), nprocs=2)
    first, second = (load_file(folder / f"{rank}.safetensors") for rank in range(2))
    return first, second, json.loads((folder / "0.json").read_text())


def test_what_ranks_tell_each_other(two: Any) -> None:
    for rank, found in enumerate(two[:2]):
        assert found["rank_and_size"].tolist() == [rank, 2]
        assert found["share"].tolist() == [[0, 1, 2], [3, 4, 5]][rank]
        assert found["sum"].tolist() == [3.0, 1.0]
        assert found["least"].item() == 4
        assert found["from_first"].tolist() == [5.0]
        for kind, dtype in (("int", torch.int64), ("bool", torch.bool), ("bytes", torch.uint8)):
            rows = torch.tensor([[0, 0], [1, 10]])
            expected = rows > 5 if kind == "bool" else rows.to(dtype)
            for dim, name in enumerate(("gathered", "gathered_1")):
                joined = found[f"{name}.{kind}"]
                assert joined.dtype == dtype
                assert torch.equal(joined, expected if dim == 0 else expected.reshape(1, 4))


def test_alone_nothing_is_shared() -> None:
    ranks = Ranks.join(CPU)
    assert ranks == Ranks(0, 1)
    assert not dist.is_initialized()
    values = torch.tensor([1.0, 2.0])
    assert ranks.sum(values) is values
    assert ranks.from_first(values) is values
    assert ranks.least(3) == 3
    assert ranks.gather({"a": values})["a"] is values
    assert ranks.share(5) == range(5)
    leave()  # nothing to leave


@pytest.mark.parametrize("case", CASES)
def test_two_ranks_learn_what_one_learns_from_all_decisions(two: Any, case: str) -> None:
    alone = learn(Batch(**decisions()), Ranks(), CASES[case][1])
    start = learn(Batch(**decisions()).select(torch.arange(2)), Ranks(), CASES[case][1])
    for found in two[:2]:
        for name, ours in alone.items():
            theirs = found[f"{case}.{name}"]
            assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6), (name, (ours - theirs).abs().max())
            if name.endswith("weight"):
                assert (ours - start[name]).abs().max() > 1e-4  # other decisions, other weights: equality says something
    for name in alone:
        if not name.startswith("metric."):
            assert torch.equal(two[0][f"{case}.{name}"], two[1][f"{case}.{name}"])


def test_two_ranks_play_the_games_of_one(two: Any) -> None:
    trainer = Trainer(TrainConfig.from_dict(TINY))
    for found in two[:2]:
        np.testing.assert_array_equal(found["deals"].numpy(), trainer.env.state())


def test_two_ranks_count_together_and_stay_alike(two: Any) -> None:
    first, second = two[:2]
    together = first["counted"][0] + second["counted"][0]
    for found in (first, second):
        assert found["counted"][1:3].tolist() == [together, together]
        assert 0 < found["counted"][3] <= together
        assert 2 <= found["counted"][0] < AN_UPDATE / 2  # the pool moved in some of each rank's games
    updated = [name for name in first if name.startswith("updated.")]
    assert updated
    for name in updated:
        assert torch.equal(first[name], second[name])


def test_refusals_and_a_rank_that_ends(two: Any) -> None:
    games, gone, left = two[2]
    assert games == "OptionError: num_envs=9: expected a multiple of the 2 processes"
    assert gone.startswith("TrainingError: another process of this run has ended")
    assert left == "in a group: False"


# --- devices and threads ----------------------------------------------------------------------------------------------------


def test_each_rank_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert own_device() == torch.device("cuda", 0)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert own_device() == torch.device("cuda", 1)
    assert chosen == [0, 1]
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(TrainingError, match=r"process 3 .* no GPU of its own, there are 2"):
        own_device()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert own_device() == CPU


def test_ranks_of_a_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(6), raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert available_cores() == 6
    for processes, each in ((2, 3), (4, 1), (8, 1)):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
        assert available_cores() == each
    assert TrainConfig(threads=5).num_threads == 5


# --- whole runs -------------------------------------------------------------------------------------------------------------


def torchrun(*arguments: object) -> "subprocess.Popen[str]":
    """``settebello-train`` with these arguments on two processes."""
    start = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "settebello_training.cli")
    return subprocess.Popen(
        [sys.executable, *start, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_run_of_two_ranks_is_interrupted_and_resumed_by_one_and_by_two(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    settings = [f"--set={name}={json.dumps(value)}" for name, value in (TINY | {"checkpoint_minutes": 0}).items()]
    running = torchrun("run", "--out", folder, *settings)
    until = time.monotonic() + 240
    while time.monotonic() < until and running.poll() is None:
        time.sleep(0.1)
        if (folder / "manifest.json").exists() and load_manifest(folder)["progress"]["updates"] >= 2:
            break
    running.send_signal(signal.SIGINT)
    shown, told = running.communicate(timeout=120)
    assert told.count("interrupted; saved. Go on with: settebello-train resume") == 1, told
    assert told.count("2 processes") == 1
    assert shown == ""
    progress = load_manifest(folder)["progress"]
    assert progress["updates"] >= 2
    assert progress["decisions"] == AN_UPDATE * progress["updates"]  # of both ranks

    # One process goes on, with all the games of both.
    tensors = load_checkpoint(folder, trainer=True).trainer
    alone = Trainer.resume(folder)
    assert alone.ranks == Ranks(0, 1)
    assert len(tensors["games"]) == 8
    for row, game in enumerate(tensors["games"]):
        assert alone.env.get_state(row) == game.numpy().tobytes()
    for name, array in alone.rollout.carried().items():
        np.testing.assert_array_equal(array, tensors[f"carried.{name}"].numpy())
    assert alone.rollout.valid[:2].any(axis=0).all()  # in each game, of whichever rank, a decision was open
    alone.update()
    assert alone.decisions == progress["decisions"] + AN_UPDATE
    alone.save(folder)

    # And two again, to the end.
    running = torchrun("resume", folder, "--minutes", 1e-6)
    shown, told = running.communicate(timeout=240)
    assert running.returncode == 0, told
    assert "destroy_process_group" not in told  # torch's warning about those who left without a word
    assert shown.count("points per deal") == 1
    assert shown.count("illegal moves") == 1
    result = json.loads((folder / "result.json").read_text())
    assert result["finished"] is True
    assert result["processes"] == 2
    assert result["counters"]["updates"] == progress["updates"] + 2
    assert result["counters"]["decisions"] == AN_UPDATE * (progress["updates"] + 2)
    assert tuple(result["evaluations"]) == ("random", "easy", "medium")
    assert load_manifest(folder)["progress"]["evaluations"] == result["evaluations"]
    names = sorted(path.name.partition("-")[0] for path in folder.iterdir())
    assert names == ["critic", "learning_curve.png", "manifest.json", "result.json", "trainer", "weights"]


def load_manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())
