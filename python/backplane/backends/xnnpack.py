"""XNNPACK."""

from __future__ import annotations

from .._config import backend_status
from typing import List

from ._module import attach, fact

__all__: List[str] = []

enabled: bool

attach(__name__, "xnnpack.", enabled=fact(lambda: backend_status("xnnpack").enabled, "Whether it can run here (read-only)."))
