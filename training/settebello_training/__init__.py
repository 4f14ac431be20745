"""Training agents for settebello's games by self-play. Needs torch: ``pip install settebello[train]``."""

import os

# torch's threads otherwise spin while they wait for each other: on a machine with other work that was six times slower.
# Read when torch starts, so set before it is imported; whoever sets it themselves is left alone.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from settebello_training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from settebello_training.config import TrainConfig
from settebello_training.errors import CheckpointError, TrainingError
from settebello_training.evaluate import NetworkOpponent
from settebello_training.export import export_run
from settebello_training.network import PolicyValueNetwork
from settebello_training.train import RunResult, train
from settebello_training.trainer import Trainer

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "NetworkOpponent",
    "PolicyValueNetwork",
    "RunResult",
    "TrainConfig",
    "Trainer",
    "TrainingError",
    "export_run",
    "load_checkpoint",
    "save_checkpoint",
    "train",
]
