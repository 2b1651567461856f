"""Makes threadpoolctl know Backplane: ``threadpool_info()`` lists it, and ``threadpool_limits()`` limits it.

``import backplane.utils.threadpoolctl`` registers its controller. ``import backplane`` does so itself if threadpoolctl was imported before.
"""

from __future__ import annotations

from typing import ClassVar, List, Optional, Tuple

import threadpoolctl

from .._core import version
from .._settings import setting
from .._torch_names import get_num_threads
from ..backends._module import close as _close

__all__ = ["BackplaneController"]


class BackplaneController(threadpoolctl.LibController):  # type: ignore[misc, unused-ignore]
    """What threadpoolctl reads and writes: the setting num_threads of the process.

    threadpoolctl restores the number that it has read. Where no number was set, none is set again, so that variables such as OMP_NUM_THREADS
    and the load of the machine count as before.
    """

    user_api = "blas"
    internal_api = "backplane"
    filename_prefixes = ("libbackplane.so",)
    check_symbols = ("bp_set_num_threads",)

    # For each limit that was not restored yet: the number before it, and the text that the process layer had.
    _before: ClassVar[List[Tuple[int, Optional[str]]]] = []

    def get_num_threads(self) -> int:
        """Returns the most threads that a call may use."""
        return get_num_threads()

    def set_num_threads(self, num_threads: int) -> None:
        """Sets num_threads for the process, or restores what was there before the last limit if the number is equal."""
        row, now = setting("num_threads"), get_num_threads()
        if num_threads == now:
            return
        if self._before and self._before[-1][0] == num_threads:
            text = self._before.pop()[1]
            if text is None:
                row.unset()
            else:
                row.set(int(text))
            return
        before = (now, row.stored("process"))
        row.set(num_threads)
        self._before.append(before)

    def get_version(self) -> str:
        """Returns the library's version."""
        return version

    def set_additional_attributes(self) -> None:
        """Adds nothing."""


threadpoolctl.register(BackplaneController)
_close(__name__)
