"""Call a learner's code and compare what it returns. All of this also runs inside the jail."""

from course_lib.checks.engine.call import Call, call_plainly
from course_lib.checks.engine.draw import Draw
from course_lib.checks.engine.item import Bug, Item, Probe, variation

__all__ = ["Bug", "Call", "Draw", "Item", "Probe", "call_plainly", "variation"]
