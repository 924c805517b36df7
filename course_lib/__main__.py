"""``python -m course_lib …`` is ``course …``: where the command starts."""

import signal
import sys


def main() -> int:
    """Run the command. Until it can say so in a line, Ctrl-C ends it without one."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from course_lib.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
