"""Call a learner's code and compare what it returns. All of this also runs inside the jail."""
