"""Tell a learner what a check has found."""
