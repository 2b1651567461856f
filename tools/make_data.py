"""Derives the matrices of examples/data from the handwritten digits that scikit-learn ships.

Run it with scikit-learn 1.x and NumPy installed (pip install scikit-learn):  python3 tools/make_data.py
The files are part of the repository; this program documents how they came about and repeats it.
"""

import pathlib

import numpy
from sklearn.datasets import load_digits

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "data"


def standardized(pixels):
    """Each column shifted to mean 0 and scaled to standard deviation 1; a column that never varies becomes 0."""
    deviation = pixels.std(axis=0)
    scale = numpy.where(deviation > 0, deviation, 1)
    return (pixels - pixels.mean(axis=0)) / scale


def principal_axes(columns):
    """Eigenvectors of the covariance as columns, widest spread first; each one's largest entry is positive."""
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
