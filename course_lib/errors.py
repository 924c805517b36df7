"""The error that the course raises for problems that its users can fix."""


class CourseError(ValueError):
    """One sentence: what was expected, what was found, the likely cause, and what to do.

    The ``course`` command prints it without a traceback.
    """
