"""make_data.py - makes the matrices and the model of examples/data from the handwritten digits that scikit-learn ships.

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


def varint(number):
    return bytes([number]) if number < 128 else bytes([number % 128 + 128]) + varint(number // 128)


def message(*fields):
    """Returns a message of protocol buffers: pairs of the number of a field, and an int, a str or bytes."""
    made = b""
    for field, value in fields:
        value = value.encode() if isinstance(value, str) else value
        whole = isinstance(value, int)
        made += varint(field * 8 + (0 if whole else 2)) + (varint(value) if whole else varint(len(value)) + value)
    return made


def node(operation, inputs, output, *attributes):
    """Returns a NodeProto. Attributes are names and whole numbers."""
    return message(*[(1, name) for name in inputs], (2, output), (3, output), (4, operation),
                   *[(5, message((1, name), (3, number), (20, 2))) for name, number in attributes])


def port(name, *sizes):
    """Returns a ValueInfoProto of f32. A size is a number or a name."""
    shape = [(1, message((1 if isinstance(size, int) else 2, size))) for size in sizes]
    return message((1, name), (2, message((1, message((1, 1), (2, message(*shape)))))))


def components(axes):
    """Returns an ONNX model: images to their coordinates on the first 8 axes, and the mean square of what these do not describe."""
    kept = numpy.ascontiguousarray(axes[:, :8].astype(numpy.float32))
    tensors = [message((1, 64), (1, 8), (2, 1), (8, "axes"), (9, kept.tobytes())),
               message((1, 1), (2, 7), (8, "pixels"), (9, numpy.int64(1).tobytes()))]
    nodes = [node("Gemm", ["images", "axes"], "coordinates"), node("Gemm", ["coordinates", "axes"], "restored", ("transB", 1)),
             node("Sub", ["images", "restored"], "rest"), node("Mul", ["rest", "rest"], "squares"),
             node("ReduceMean", ["squares", "pixels"], "error", ("keepdims", 0))]
    graph = message(*[(1, one) for one in nodes], (2, "components"), *[(5, one) for one in tensors], (11, port("images", "count", 64)),
                    (12, port("coordinates", "count", 8)), (12, port("error", "count")))
    return message((1, 8), (2, "tools/make_data.py"), (7, graph), (8, message((1, ""), (2, 18))))


def main():
    columns = standardized(load_digits().data.astype(numpy.float64))
    single = columns.astype(numpy.float32)
    numpy.save(FOLDER / "digits.npy", single)
    numpy.save(FOLDER / "digits_t.npy", single.T)  # the same bytes: a .npy file in Fortran order
    numpy.save(FOLDER / "digits_f64.npy", columns)
    axes = principal_axes(columns)
    numpy.save(FOLDER / "axes_f64.npy", axes)
    (FOLDER / "components.onnx").write_bytes(components(axes))


if __name__ == "__main__":
    main()
