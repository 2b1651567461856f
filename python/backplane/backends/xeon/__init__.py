"""Launching programs on the cores and NUMA nodes of one machine: ``python -m backplane.backends.xeon.run_cpu``.

The launcher is not imported here, because Python warns when a module that is run with ``-m`` was imported before.
"""

from typing import List

from .._module import close as _close

__all__: List[str] = []
_ALSO = ("run_cpu",)

_close(__name__)
