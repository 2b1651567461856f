"""numpy_tests.py - runs NumPy's own tests of numpy.linalg and numpy.fft on backplane, and prints the counts

Usage: numpy_tests.py [arguments of pytest]. BACKPLANE_BUILD is the build folder (default: build). The functions of numpy.linalg
and numpy.fft are replaced in this process only (numpy_adapter.py). Tests of tools/numpy_skips.txt, with the reason, are skipped.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", HERE.parent / "build")).resolve()
sys.path[:0] = [str(BUILD / "python"), str(HERE)]

import numpy  # noqa: E402
import pytest  # noqa: E402

FILES = ["linalg/tests/test_linalg.py", "fft/tests/test_pocketfft.py", "fft/tests/test_helper.py"]


def read_skips(path):
    """Returns the names of tests, or their beginnings, with the reason of each: lines `name: reason`."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


class Skips:
    """A plugin of pytest that skips the listed tests, and counts results."""

    def __init__(self, listed):
        self.listed, self.used, self.counts = listed, set(), {}

    def pytest_collection_modifyitems(self, items):
        for item in items:
            name = item.nodeid.rpartition("/")[2]
            for start, reason in self.listed.items():
                if name.startswith(start):
                    self.used.add(start)
                    item.add_marker(pytest.mark.skip(reason=reason))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.skipped:
            self.counts[report.outcome] = self.counts.get(report.outcome, 0) + 1


def main(arguments):
    import numpy_adapter as adapter

    for name, function in vars(adapter.linalg).items():
        setattr(numpy.linalg, name, function)
    for name, function in vars(adapter.fft).items():
        setattr(numpy.fft, name, function)
    folder = pathlib.Path(numpy.__file__).parent
    skips = Skips(read_skips(HERE / "numpy_skips.txt"))
    status = pytest.main(["-q", "-p", "no:cacheprovider", *[str(folder / file) for file in FILES], *arguments], [skips])
    unused = sorted(set(skips.listed) - skips.used)
    if unused and not arguments:
        print(f"numpy_skips.txt names tests that do not exist: {', '.join(unused)}")
        status = status or 1
    print(f"NumPy {numpy.__version__}: {', '.join(f'{count} {outcome}' for outcome, count in sorted(skips.counts.items()))}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
