"""What goes wrong in training, under settebello's own base; damaged checkpoints are settebello's own error."""

from settebello.errors import CheckpointError, SettebelloError

__all__ = ["CheckpointError", "TrainingError"]


class TrainingError(SettebelloError):
    """Training cannot go on, for example because the loss is no longer a number."""
