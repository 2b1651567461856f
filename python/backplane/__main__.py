"""``python -m backplane`` is the command line: the program ``backplane``, which lies in the package."""

import os
import pathlib
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Becomes the program, so that its exit code and its terminal are the command's."""
    # Not resolved: in a build folder this file is a link to the sources, and the program is beside the link.
    program = pathlib.Path(__file__).parent / "bin" / "backplane"
    if not program.exists():
        sys.exit(f"backplane: the command is not installed at {program}")
    os.execv(program, ["backplane", *sys.argv[1:]])


if __name__ == "__main__":
    main()
