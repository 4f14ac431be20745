"""What goes wrong in training, under settebello's own base."""

from settebello.errors import SettebelloError


class CheckpointError(SettebelloError, ValueError):
    """A checkpoint is missing, damaged, or made for another game or observation; the message says what to do."""


class TrainingError(SettebelloError):
    """Training cannot go on, for example because the loss is no longer a number."""
