"""``python -m course_lib …`` is ``course …``."""

import sys

from course_lib.cli import main

sys.exit(main())
