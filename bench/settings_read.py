"""settings_read.py - runs the settings_read program, then times reading the same settings from Python.

    python bench/settings_read.py build/bench/settings_read

The time of an empty loop is subtracted. Times are minima over all rounds, as in the program.
"""
import pathlib
import subprocess
import sys
import timeit

ROUNDS, TIMES = 15, 200000

READINGS = (
    ("bool: cudnn.deterministic", "place.deterministic", "place = torch.backends.cudnn"),
    ("int: settings.num_threads", "place.num_threads", "place = torch.settings"),
    ("word, inherited: mkldnn.matmul.fp32_precision", "place.fp32_precision", "place = torch.backends.mkldnn.matmul"),
    ("torch.backends.cudnn.deterministic, whole path", "torch.backends.cudnn.deterministic", ""),
)


def best(statement, setup):
    return min(timeit.repeat(statement, setup, repeat=ROUNDS, number=TIMES)) / TIMES * 1e9


def main():
    subprocess.run([sys.argv[1]], check=True)
    sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve().parents[1] / "python"))
    try:
        import backplane
    except ImportError as error:
        print(f"from Python: not measured, {error}")
        return
    print(f"Python {sys.version.split()[0]}, package {backplane.__version__}")
    empty = best("pass", "pass")
    for what, statement, setup in READINGS:
        print(f"{what:<46} {best(statement, 'import backplane as torch; ' + setup) - empty:6.1f} ns")


main()
