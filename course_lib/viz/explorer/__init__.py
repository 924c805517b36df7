"""The attention explorer: every layer and head of one sentence."""
