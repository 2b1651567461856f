"""cuSPARSELt, NVIDIA's library for structured sparse products."""

from __future__ import annotations

from typing import Optional

from .._config import backend_status
from ._module import attach

__all__ = ["get_max_alg_id", "is_available", "version"]

# The highest algorithm number of each version, if published.
_HIGHEST_ALGORITHM = {400: 4, 502: 5, 602: 37}


def version() -> Optional[int]:
    """Returns the version of the installed library (602 for 0.6.2); None if there is none."""
    return backend_status("cusparselt").version_number or None


def is_available() -> bool:
    """Returns whether it can run on this machine; backplane.backend_status("cusparselt") has the reason."""
    return backend_status("cusparselt").available


def get_max_alg_id() -> Optional[int]:
    """Returns the highest algorithm number of the installed version; None if it is unknown."""
    return _HIGHEST_ALGORITHM.get(version() or 0)


attach(__name__, "cusparselt.")
