"""The launcher's exception for wrong usage, and its log."""

from __future__ import annotations

import logging

# The name is written out because the module itself is called ``__main__`` when it is run with ``python -m``.
logger = logging.getLogger("backplane.backends.xeon.run_cpu")


class LaunchError(RuntimeError):
    """The request cannot be carried out on this machine. It is raised before any program was started."""
