"""The versions that torch.version has. cuda and hip are None: no operation runs through them."""

from __future__ import annotations

from typing import Optional

from ._core import version as __version__
from .backends._module import close as _close

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

cuda: Optional[str] = None
hip: Optional[str] = None
xpu: Optional[str] = None
debug: bool = False
git_version: str = "Unknown"

_close(__name__)
