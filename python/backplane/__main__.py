"""``python -m backplane`` runs the program ``backplane``, which is installed in the package."""

import os
import pathlib
import sys
from typing import NoReturn

from . import _core


def main() -> NoReturn:
    """Replaces this process by the program, which so has the terminal and sets the exit code."""
    # The program is next to the extension. This file may be elsewhere: in the sources, after `pip install --editable`.
    program = pathlib.Path(_core.__file__).parent / "bin" / "backplane"
    if not program.exists():
        sys.exit(f"backplane: the command is not installed at {program}")
    os.execv(program, ["backplane", *sys.argv[1:]])


if __name__ == "__main__":
    main()
