"""Build the notebooks, and check what they store."""
