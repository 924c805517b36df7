"""Grade notebooks that may have been written by anybody: ``course grade``.

Reading order: ``submissions`` for what was handed in; ``jail``, and in it ``inside``, for running
it; ``class_run`` for the results; ``marks``, ``nbgrader`` and ``reports`` for what an instructor
does with them; ``variants`` for assignments that differ from group to group; ``oral`` for questions
that a person asks.
"""
