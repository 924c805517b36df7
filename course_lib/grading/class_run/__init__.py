"""Grade a submission, and all submissions of a class."""
