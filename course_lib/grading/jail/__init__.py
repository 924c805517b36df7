"""The jail in which learners' code runs, and what the grader does to start and ask it."""
