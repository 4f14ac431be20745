"""What ``settebello bench`` does: how fast the environments are, beside other libraries measured in the same run.

Every speed is in units per CPU-second of the measuring process (``time.process_time``): on a busy machine that says more
than the clock on the wall. Each loop is a *replay*: its actions were drawn at random beforehand, through the same interface
from the same seed, so that the timed part holds the environment's work alone (``loops.py``). The replays of all loops take
turns, a block of CPU time each, for several rounds: what slows the machine for a while then slows all of them, and the
ratios are taken round by round (``run.py``). Everywhere the median of the rounds is given, with the lowest and the highest.

What opponents need is measured after that, in rounds too, as CPU time for one position, decision, move or duel
(``opponents.py``).

Where a choice had to be made for another library, it was made in that library's favour (``others.py``).
"""
