"""The entrance of the program: ``undrift`` and ``python -m undrift``.

Law: a client waits for its hook, so ``undrift hook`` loads neither the command line nor the store before it must.
"""

import sys


def run() -> None:
    """Run the program; a hook that a client calls goes straight to its work."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"}.intersection(arguments):
        if arguments[1:2] == ["StatusLine"]:
            from undrift.hooks.status_line import start_line

            start_line(arguments[2:])
            return
        from undrift.hooks.start import read_input, start

        if (given := read_input()) is not None:
            start(arguments[1:], given)
            return
    from undrift.cli import main

    main(prog_name="undrift")


if __name__ == "__main__":
    run()
