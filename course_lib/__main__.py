"""``python -m course_lib …`` is ``course …``: where the command starts."""

import sys


def main() -> int:
    """Run the command. Until it takes over, and after it, Ctrl-C ends the process at once."""
    try:
        import signal

        from course_lib.ctrl_c import end_at_once

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, end_at_once)
    except KeyboardInterrupt:
        return 130
    from course_lib.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
