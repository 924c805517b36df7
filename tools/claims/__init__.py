"""Check numbers, claims and words in the prose of the course."""
