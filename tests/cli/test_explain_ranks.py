"""`backplane explain --ranks N`: what operations would cost on ranks of MPI that are not here."""

import json

import pytest


def test_one_number(backplane):
    done = backplane("explain", "matmul", "f64", "1000x1000", "1000x1000", "--ranks", "4", "--latency", "30us", "--bandwidth", "125MB/s", "--rate", "30GF")
    assert done.code == 0 and "4 ranks, grid 2x2, blocks of 64x64" in done.out and "chosen    scalapack" in done.out, done
    # 2 n^3 operations on four ranks of 30 GF; 1/4 of 16 MB at 125 MB/s; two sums of 32 panels
    assert "sends 16.0 MB in" in done.out and "17 ms work, 33 ms transfer, 2 ms latency" in " ".join(done.out.split()), done
    found = json.loads(backplane("explain", "matmul", "f64", "1000x1000", "1000x1000", "-n", "4", "--json").out)
    assert found["chosen"] == "scalapack", found


def test_several_numbers(backplane):
    done = backplane("explain", "solve", "f64", "20000x20000", "20000", "--ranks", "16,64,3", "--set", "dist.block=128")
    lines = [line for line in done.out.splitlines() if " rank" in line and line[0].isdigit()]
    assert done.code == 0 and [line.split(":")[0] for line in lines] == ["16 ranks, grid 4x4", "64 ranks, grid 8x8", "3 ranks, grid 1x3"], done


def test_a_number_that_is_refused(backplane):
    done = backplane("explain", "solve", "1000000x1000000", "1000000", "--ranks", "100,1024")
    assert done.code == 4 and "100 ranks: a rank would have more than 2^31 - 1 elements" in " ".join(done.out.split()), done
    assert "1024 ranks, grid 32x32" in done.out, done


def test_transforms(backplane):
    done = backplane("explain", "fft2", "c128", "1000x1000", "--ranks", "4")
    text = " ".join(done.out.split())
    # 16 bytes of each element that changes its rank, three of four, twice
    assert done.code == 0 and "chosen fftw-mpi" in text and "grid 1x4" in text and "sends 24.0 MB in 24 messages, busiest rank 6.0 MB in 6" in text, done
    done = backplane("explain", "rfftn", "512x512x512", "-n", "16,1024", "--set", "dist.grid=2x2")
    lines = [line for line in done.out.splitlines() if " rank" in line and line[0].isdigit()]
    assert done.code == 0 and [line.split(":")[0] for line in lines] == ["16 ranks, grid 1x16", "1024 ranks, grid 1x1024"], done


def test_transforms_that_are_refused(backplane):
    done = backplane("explain", "fft", "c128", "100x100", "-n", "4,9")
    assert done.code == 4 and done.out.count("all dimensions must be transformed") == 2, done
    done = backplane("explain", "fft2", "c128", "1000000x100000", "-n", "2")
    assert done.code == 4 and "more than 2^31 - 1" in " ".join(done.out.split()), done


@pytest.mark.parametrize("words", [("lu_solve", "300x300", "300", "300"), ("eigh", "300x300"), ("svd", "300x200"), ("gemm", "300x200", "300x100", "--trans-a"),
                                   ("cholesky_solve", "c64", "300", "300x300"), ("lstsq", "f32", "300x200", "300", "--driver", "gels"), ("matrix_norm", "300x200")])
def test_operations(backplane, words):
    done = backplane("explain", *words, "-n", "4")
    assert done.code == 0 and "chosen    scalapack" in done.out, done


@pytest.mark.parametrize("words, text", [
    (("matmul", "3x3", "3x3", "--ranks", "0"), "--ranks is '0'"),
    (("matmul", "3x3", "3x3", "--ranks", "4,x"), "--ranks is '4,x'"),
    (("matmul", "3x3", "3x3", "--ranks", "4,"), "--ranks is '4,'"),
    (("matmul", "3x3", "3x3", "--ranks", "2000000"), "--ranks is '2000000'"),
    (("matmul", "3x3", "3x3", "--latency", "2us"), "--latency is for --ranks"),
    (("matmul", "3x3", "3x3", "-n", "4", "--latency", "2"), "it must be such as 2us"),
    (("matmul", "3x3", "3x3", "-n", "4", "--latency", "nan"), "it must be such as 2us"),
    (("matmul", "3x3", "3x3", "-n", "4", "--latency", "-2us"), "it must be such as 2us"),
    (("matmul", "3x3", "3x3", "-n", "4", "--bandwidth", "25Gb/s"), "it must be such as 25GB/s"),
    (("matmul", "3x3", "3x3", "-n", "4", "--bandwidth", "1e999GB/s"), ""),
    (("matmul", "3x3", "3x3", "-n", "4", "--rate", "30"), "it must be such as 30GF"),
    (("matmul", "3x3", "3x3", "-n", "4,9", "--json"), "--json takes one number"),
    (("matmul", "3x3", "3x3", "-n", "4", "--device", "cpu"), "--device"),
    (("matmul", "3x3", "3x3", "-n", "4", "--set", "dist.block=0"), "dist.block"),
    (("matmul", "3x3x3", "3x3x3", "-n", "4"), "array 1 has 3 dimensions"),
    (("fftn", "3x3x3x3", "-n", "4"), "array 1 has 4 dimensions; with --ranks it must have two or three"),
    (("einsum", "ij,kl->ijkl", "3x3", "3x3", "-n", "4"), "result 1 has 4 dimensions"),
    (("einsum", "ij,jk->ik", "3x3", "3x3", "-n", "4"), "takes no distributed operands"),
    (("einsum", "ij,jk,kl->il", "3x3", "3x3", "3x3", "-n", "4,9"), "takes no distributed operands"),
    (("model.onnx", "-n", "4"), "not for models"),
])
def test_wrong_use(backplane, words, text):
    done = backplane("explain", *words)
    assert done.code not in (0, 4) and text in done.err and not done.out, done
