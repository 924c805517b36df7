"""The one error that the course raises on purpose for something a person can mend."""


class CourseError(ValueError):
    """A one-sentence message: what was expected, what came, the likely cause.

    The ``course`` command prints it without a traceback.
    """
