"""torch.__config__: what this version is made of, as text."""

from __future__ import annotations

from . import _core
from ._config import _as_dict, _page
from .backends._module import close as _close

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Returns version, machine, libraries, backends and changed settings as text; show_config() prints it."""
    return _page(_as_dict())


def parallel_info() -> str:
    """Returns the number of threads in effect, and of CPUs that this process may use."""
    threads = _core.table["num_threads"].get()
    return f"num_threads: {threads or 'chosen for each call'}\nusable CPUs: {_core.machine()['usable_cpus']}"


_close(__name__)
