"""A training run: its options, its folder, its checkpoints, and how it is resumed."""
