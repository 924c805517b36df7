"""The live diagram of the whole model."""
