"""Start the jail's server as an unprivileged user when the grader runs as root.

That user may not be able to reach the Python installation (below /root, say), so what the jail is
to contain is first mounted where everybody can reach it, in mounts of this process only.

    python -m course_lib.grading.jail.drop_root SETTINGS

The settings are JSON: {"user": 65534, "stage": DIR, "folders": […], "command": […]}
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from course_lib.grading.jail.inside import confinement


def start_unprivileged(settings: dict[str, Any]) -> None:
    """Mount each folder at a number below the stage, become the user, and start the command.

    Raises:
        OSError: this process is not root, or the system does not allow it.
    """
    confinement.enter_private_mounts()
    for number, folder in enumerate(settings["folders"]):
        confinement.bind(folder, f"{settings['stage']}/{number}")
    confinement.become(settings["user"])
    os.execv(settings["command"][0], settings["command"])


if __name__ == "__main__":
    start_unprivileged(json.loads(sys.argv[1]))
