"""make_data.py - makes the matrices of examples/data from the handwritten digits that scikit-learn ships.

Needs scikit-learn 1.x and NumPy (pip install scikit-learn):  python3 tools/make_data.py
The files are part of the repository. This program documents how they were made, and can make them again.
"""

import pathlib

import numpy
from sklearn.datasets import load_digits

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "data"


def standardized(pixels):
    """Shifts each column to mean 0 and scales it to standard deviation 1. A constant column becomes 0."""
    deviation = pixels.std(axis=0)
    scale = numpy.where(deviation > 0, deviation, 1)
    return (pixels - pixels.mean(axis=0)) / scale


def principal_axes(columns):
    """Returns the eigenvectors of the covariance as columns, largest variance first, each with a positive largest entry."""
    _, vectors = numpy.linalg.eigh(columns.T @ columns / len(columns))
    vectors = vectors[:, ::-1]
    largest = numpy.abs(vectors).argmax(axis=0)
    return numpy.ascontiguousarray(vectors * numpy.sign(vectors[largest, numpy.arange(vectors.shape[1])]))


def main():
    columns = standardized(load_digits().data.astype(numpy.float64))
    single = columns.astype(numpy.float32)
    numpy.save(FOLDER / "digits.npy", single)
    numpy.save(FOLDER / "digits_t.npy", single.T)  # the same bytes: a .npy file in Fortran order
    numpy.save(FOLDER / "digits_f64.npy", columns)
    numpy.save(FOLDER / "axes_f64.npy", principal_axes(columns))


if __name__ == "__main__":
    main()
