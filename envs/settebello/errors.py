"""The exceptions settebello raises, all under one base."""


class SettebelloError(Exception):
    """Base of every error that settebello raises on purpose."""


class OptionError(SettebelloError, ValueError):
    """An option, deck, seed or argument is unknown or outside what is allowed."""


class IllegalActionError(SettebelloError, ValueError):
    """An action is not legal now; the game was left as it was."""


class StateError(SettebelloError, ValueError):
    """Saved bytes are truncated, foreign, or made with other options or another version."""


class CheckpointError(SettebelloError, ValueError):
    """A checkpoint is missing, damaged, or made for another game or observation; the message says what to do."""


class NotResetError(SettebelloError, AttributeError):
    """The environment was used before ``reset``.

    Also an AttributeError, since PettingZoo and Gymnasium code probes for attributes that only exist after ``reset``.
    """


class GameOverError(SettebelloError, ValueError):
    """A move was made although the game is over."""


class ArenaError(SettebelloError):
    """A duel or ladder could not go on: an opponent took an illegal action, raised, or a worker process died.

    Attributes:
        partial: the ``DuelResult`` of what was played before, or None.
    """

    def __init__(self, message: str, partial: object = None) -> None:
        super().__init__(message)
        self.partial = partial
