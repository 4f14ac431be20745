"""The rules once more, slow and in plain Python: what the engine is compared with. Imports nothing from settebello."""
