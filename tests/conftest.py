"""In the tests, every shape in a signature of course_lib is checked as the function runs."""

import pytest
from jaxtyping import config, install_import_hook

# The tower lets an int stand where a float is asked for, as type checkers do.
CHECK = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
install_import_hook("course_lib", CHECK)


@pytest.fixture
def own_messages(monkeypatch):
    """Leave wrong arguments to the library, for a test of what it says of them itself."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
