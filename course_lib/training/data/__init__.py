"""The data of a training run: pairs, tokenizers, and the batches of all epochs."""
