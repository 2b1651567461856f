"""Transforms against numpy.fft with all array types; lengths, norms, transforms in place, and the plan cache."""

import array
import doctest
import inspect
import pickle
import threading

import numpy as np
import pytest

import backplane as bp

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
NORMS = [None, "backward", "ortho", "forward"]
TOLERANCE = {"f4": 2e-6, "c8": 2e-6, "f8": 1e-14, "c16": 1e-14}


def random(dtype, *shape):
    rng = np.random.default_rng(5)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def types_of(name):
    return ["f4", "f8"] if name in ("rfft", "ihfft") else ["f4", "f8", "c8", "c16"]


def wide(x):
    return x.astype("c16" if x.dtype.kind == "c" else "f8")


def close(got, wanted, dtype):
    assert isinstance(got, np.ndarray) and got.shape == wanted.shape
    narrow = dtype in ("f4", "c8")
    assert got.dtype == np.dtype(({"c": "c8", "f": "f4"} if narrow else {"c": "c16", "f": "f8"})[wanted.dtype.kind])
    assert np.abs(got - wanted).max() <= TOLERANCE[dtype] * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name):
    ours, theirs = getattr(bp.fft, name), getattr(np.fft, name)
    for dtype in types_of(name):
        x = random(dtype, 4, 9, 5)
        close(ours(x), theirs(wide(x)), dtype)
        for norm in NORMS:
            close(ours(x, 12, 1, norm), theirs(wide(x), 12, 1, norm), dtype)
            close(ours(x, n=4, dim=-2, norm=norm), theirs(wide(x), 4, -2, norm), dtype)
        close(ours(x[::-1, ::2, ::-1], n=np.int64(3)), theirs(wide(x)[::-1, ::2, ::-1], 3), dtype)
        close(ours(np.broadcast_to(x[0], (3, 9, 5))), theirs(np.broadcast_to(wide(x)[0], (3, 9, 5))), dtype)


def hermitian_reference(name):
    """Reference for hfft2 and hfftn, which NumPy does not have: irfftn of the conjugate with the opposite norm; and the inverses."""
    turned = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
    if name == "hfft":
        return lambda x, s, dim, norm: np.fft.irfftn(x.conj(), s, dim, turned[norm])
    return lambda x, s, dim, norm: np.fft.rfftn(x, s, dim, turned[norm]).conj()


@pytest.mark.parametrize("name", ONE)
def test_more_dimensions(name):
    two, many = getattr(bp.fft, name + "2"), getattr(bp.fft, name + "n")
    reference = hermitian_reference(name) if name in ("hfft", "ihfft") else getattr(np.fft, name + "n")
    for dtype in types_of(name):
        x = random(dtype, 3, 6, 5)
        for norm in NORMS:
            close(two(x, norm=norm), reference(wide(x), None, (-2, -1), norm), dtype)
            close(many(x, norm=norm), reference(wide(x), None, (0, 1, 2), norm), dtype)
            close(two(x, (4, 8), (2, 0), norm), reference(wide(x), (4, 8), (2, 0), norm), dtype)
            close(many(x, s=(7, 4), norm=norm), reference(wide(x), (7, 4), (-2, -1), norm), dtype)
            close(many(x, dim=1, norm=norm), reference(wide(x), None, (1,), norm), dtype)
            close(many(x, s=[4, -1], dim=[0, 1], norm=norm), reference(wide(x), (4, many_length(name, x)), (0, 1), norm), dtype)


def many_length(name, x):
    return 2 * (x.shape[1] - 1) if name in ("irfft", "hfft") else x.shape[1]


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "?"])
def test_integers_become_float64(dtype):
    x = (random("f8", 6) * 5).astype(dtype)
    for name in ONE:
        got = getattr(bp.fft, name)(x)
        assert got.dtype.itemsize == (16 if got.dtype.kind == "c" else 8)
        np.testing.assert_allclose(got, getattr(np.fft, name)(x), atol=1e-13)


def test_out():
    x, out = random("c16", 4, 6), np.empty((4, 6), "c16")
    assert bp.fft.fft(x, out=out) is out
    np.testing.assert_allclose(out, np.fft.fft(x), atol=1e-13)
    wanted = np.fft.ifft2(x)
    assert bp.fft.ifft2(x, out=x) is x
    np.testing.assert_allclose(x, wanted, atol=1e-14)
    real = np.empty((6, 6)).T
    assert bp.fft.irfft(out.T, out=real) is real
    np.testing.assert_allclose(real, np.fft.irfft(out.T), atol=1e-13)


def test_out_is_refused():
    x = random("c16", 4, 6)
    for out, kind, words in (
        (np.empty((4, 5), "c16"), ValueError, r"\(4, 5\)"),
        (np.empty((4, 6), "c8"), TypeError, "c64"),
        (x[::-1], ValueError, "overlaps"),
        (np.broadcast_to(np.empty(6, "c16"), (4, 6)), ValueError, "out"),
        (np.ma.masked_array(np.empty((4, 6), "c16")), TypeError, "mask"),
        ([0], TypeError, "out"),
    ):
        with pytest.raises(kind, match=words) as caught:
            bp.fft.fft(x, out=out)
        assert isinstance(caught.value, bp.Error)


def no_library():
    """Returns settings that exclude every library."""
    return {"dispatch.exclude": ",".join(row.library for row in bp.explain(bp.fft.fft, np.ones(4)).candidates)}


def test_bad_arguments_are_refused():
    x = random("f8", 4, 6)
    fft = bp.fft
    for call, kind, words in (
        (lambda: fft.fft(x, 0), ValueError, r"invalid number of data points \(0\)"),
        (lambda: fft.fft(x, -1), ValueError, r"invalid number of data points \(-1\)"),
        (lambda: fft.irfft(x[:, :1]), ValueError, r"invalid number of data points \(0\)"),
        (lambda: fft.fft(x, "8"), TypeError, "n: expects a whole number"),
        (lambda: fft.fft(x, 2**70), ValueError, "64 bits"),
        (lambda: fft.fft(x, dim=2), ValueError, "dimension 2 is outside"),
        (lambda: fft.fft(x, dim=99), ValueError, "99"),
        (lambda: fft.fft(x, dim=None), TypeError, "dim"),
        (lambda: fft.fft2(x, dim=(0, -2)), ValueError, "axes must be unique"),
        (lambda: fft.fftn(x, dim="ab"), TypeError, "dim: takes whole numbers"),
        (lambda: fft.fftn(x, (4,), (0, 1)), ValueError, "s: has 1 sizes, but dim has 2"),
        (lambda: fft.fftn(x, (4, 4, 4)), ValueError, "rank 2"),
        (lambda: fft.fftn(x, (4.0, 4)), TypeError, "s: takes whole numbers"),
        (lambda: fft.rfftn(x, dim=()), ValueError, "at least one dimension"),
        (lambda: fft.fft(x, norm="orthogonal"), ValueError, "backward, ortho or forward"),
        (lambda: fft.fft(x, norm=1), TypeError, "norm: expects a str"),
        (lambda: fft.rfft(x + 1j), TypeError, "rfft takes real input"),
        (lambda: fft.fft(x.astype("f2")), TypeError, "f16"),
        (lambda: fft.fft("text"), TypeError, "input: a str"),
        (lambda: fft.fft(["a", "b"]), TypeError, "input"),
        (lambda: fft.fft(2.0), ValueError, "dimension"),
        (lambda: fft.fft(np.ma.masked_array(x)), TypeError, "input: a masked array"),
        (lambda: fft.fft(x, settings=no_library()), RuntimeError, "native"),
    ):
        with pytest.raises(kind, match=words) as caught:
            call()
        assert isinstance(caught.value, bp.Error)


def test_no_candidate_error_has_the_reason_of_each_library():
    with pytest.raises(bp.Error) as caught:
        bp.fft.fft(np.ones(4), settings=no_library())
    assert ("native", "EXCLUDED") in [reason[:2] for reason in caught.value.reasons]


def test_no_dimension_and_scalars():
    x = random("f4", 3)
    got = bp.fft.fftn(x, dim=())
    assert got.dtype == np.complex64
    np.testing.assert_array_equal(got, x)
    assert bp.fft.fftn(np.array(2.0)) == 2


def test_lists_and_numbers():
    for name in ONE:
        function, model = getattr(bp.fft, name), getattr(np.fft, name)
        for given in ([1, 2, 4, 8], (1.5, True, 2), [[1, 2], [3, 4]], [np.float64(1), np.int8(3)]):
            close(function(given), model(given), "f8")
        assert bp.explain(function, [1, 2, 4, 8]).chosen
    close(bp.fft.fft([1j, 2, 0.5]), np.fft.fft([1j, 2, 0.5]), "c16")
    close(bp.fft.fft2([[1, 2], [3, 4]]), np.fft.fft2([[1, 2], [3, 4]]), "c16")
    for number in (3, 2.5, 1j, True, np.float64(4), np.int16(5)):
        got = bp.fft.fftn(number)
        assert got.dtype == complex and got.shape == () and got == number
    assert np.array_equal(bp.fft.fftshift([1, 2, 3, 4]), [3, 4, 1, 2]) and bp.fft.fftshift([1, 2]).dtype == int
    assert np.array_equal(bp.fft.ifftshift([[1, 2, 3]], axes=1), [[2, 3, 1]])


def test_other_arrays():
    x = array.array("d", [1, 2, 4, 8, 0.5])
    got = bp.fft.rfft(x)
    assert isinstance(got, bp.Tensor) and got.shape == (3,) and got.dtype == "c128"
    np.testing.assert_allclose(np.from_dlpack(got), np.fft.rfft(np.array(x)))
    again = bp.fft.irfft(got, 5)
    assert isinstance(again, bp.Tensor)
    np.testing.assert_allclose(np.asarray(again), np.array(x))
    with pytest.raises(TypeError, match="i64"):
        bp.fft.fft(array.array("q", [1, 2]))


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[1.0, 2, 3], [4, 5, 7]])
    got = bp.fft.fft(x)
    assert isinstance(got, torch.Tensor) and torch.allclose(got, torch.fft.fft(x))
    assert bp.fft.rfft(torch.arange(4)).dtype == torch.complex64
    assert bp.fft.fftfreq(4, dtype=torch.float32).dtype == torch.float32


def test_shifts():
    for dtype in ("f4", "c16", "i8", "u1", "?", "f2"):
        x = (random("f8", 5, 4) * 9).astype(dtype)
        for name in ("fftshift", "ifftshift"):
            ours, theirs = getattr(bp.fft, name), getattr(np.fft, name)
            for got, wanted in ((ours(x), theirs(x)), (ours(x, 1), theirs(x, 1)), (ours(x.T, dim=(0, -1)), theirs(x.T))):
                assert isinstance(got, np.ndarray) and got.dtype == x.dtype
                np.testing.assert_array_equal(got, wanted)
    for wrong, kind in ((2, ValueError), ((0, 0), ValueError), ("a", TypeError)):
        with pytest.raises(kind):
            bp.fft.fftshift(x, wrong)
    assert memoryview(bp.fft.fftshift(array.array("h", [1, 2, 3]))).tolist() == [3, 1, 2]


def test_frequencies():
    for n in range(1, 9):
        np.testing.assert_allclose(bp.fft.fftfreq(n, 0.1, dtype=np.float64), np.fft.fftfreq(n, 0.1), rtol=1e-15)
        np.testing.assert_allclose(bp.fft.rfftfreq(n, d=-3, dtype=np.dtype("f4")), np.fft.rfftfreq(n, -3).astype("f4"), rtol=1e-6)
    got = bp.fft.fftfreq(4)
    assert isinstance(got, bp.Tensor) and got.dtype == "f64" and bp.fft.fftfreq(4, dtype="float32").dtype == "f32"
    out = np.empty(3, "f4")
    assert bp.fft.rfftfreq(5, 2.0, out=out) is out
    np.testing.assert_array_equal(out, np.fft.rfftfreq(5, 2.0).astype("f4"))
    for call, kind in (
        (lambda: bp.fft.fftfreq(4, 0), ValueError),
        (lambda: bp.fft.fftfreq(4, out=out), ValueError),
        (lambda: bp.fft.rfftfreq(0), ValueError),
        (lambda: bp.fft.fftfreq(4, dtype="i32"), TypeError),
        (lambda: bp.fft.fftfreq(-1), ValueError),
    ):
        with pytest.raises(kind):
            call()


def test_explain_agrees_with_the_call():
    x = random("f4", 3, 6)
    for name in ONE:
        for form, names in (("", {"n": 9}), ("2", {"s": (4, 5)}), ("n", {"dim": 0})):
            function = getattr(bp.fft, name + form)
            why = bp.explain(function, x, norm="ortho", **names)
            function(x, norm="ortho", **names)
            assert why.problem == bp.last_plan().problem and why.chosen.library == bp.last_plan().library
    assert "padded with zeros" in bp.explain(bp.fft.rfft, x, 10).decision
    excluded = bp.explain(bp.fft.fft, x, settings={"dispatch.exclude": "native"})
    assert [row.reason for row in excluded.candidates if row.library == "native"] == ["EXCLUDED"]
    with pytest.raises(TypeError):
        bp.explain(bp.fft.fftshift, x)
    with pytest.raises(TypeError):
        bp.explain(bp.fft.fft, x, length=3)


def test_plan_cache():
    cache = bp.fft.plan_cache
    cache.clear()
    assert cache.size == 0 and cache.max_size == 4096
    for n in range(2, 7):
        bp.fft.fft(np.ones(n))
    assert cache.size == 5
    cache.max_size = 2
    bp.fft.fft(np.ones(9))
    assert cache.size == 2 and cache.max_size == 2
    cache.max_size = 0
    bp.fft.fft(np.ones(10))
    assert cache.size == 0
    cache.max_size = 7
    bp.fft.fft(np.ones(11))
    assert cache.size == 1
    cache.clear()
    assert cache.size == 0
    for wrong, kind in ((-1, ValueError), ("2", TypeError)):
        with pytest.raises(kind):
            cache.max_size = wrong
    with pytest.raises(RuntimeError, match="read-only; max_size"):
        cache.size = 3
    with pytest.raises(AttributeError, match="max_size"):
        cache.max_sise = 3
    with pytest.raises(AttributeError):
        cache.nothing


def test_threads():
    x = random("c8", 64, 100)
    wanted, wrong = np.fft.fft(x), []

    def work():
        for _ in range(20):
            got = bp.fft.fft(x)
            if np.abs(got - wanted).max() > 1e-4:
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_unknown_names():
    with pytest.raises(AttributeError, match="fftshift"):
        bp.fft.fft_shift
    with pytest.raises(AttributeError):
        bp.fft.something = 3


FFTW = {"fftw", "fftwf"} <= {library.id for library in bp.libraries() if library.state == "ok"}


@pytest.mark.skipif(not FFTW, reason="no FFTW in both precisions here")
@pytest.mark.parametrize("preferred, dtype, runs", [("fftw", "c8", "fftwf"), ("fftw", "c16", "fftw"), ("fftwf", "c16", "fftw")])
def test_the_counterpart_of_a_preferred_library_runs_the_other_precision(preferred, dtype, runs):
    x = random(dtype, 24)
    settings = {"fft.preferred": preferred, "dispatch.fallback": "strict"}
    close(bp.fft.fft(x, settings=settings), np.fft.fft(wide(x)), dtype)
    plan = bp.last_plan()
    assert plan.library == runs and plan.reason.startswith(f"preferred by fft.preferred={preferred}")


@pytest.mark.parametrize("library", [library.id for library in bp.libraries() if "fft" in library.offers and library.state == "ok"] + ["native"])
def test_dimensions_with_mixed_stride_order(library):
    """FFTW's planner recurses infinitely for some of these sizes."""
    settings = {"fft.preferred": library, "dispatch.fallback": "allow"}
    x = random("c16", 5, 9, 4, 6)[:, ::2, ::-1]
    for dims in [(0, 1, 2), (1, 2, 3), (3, 0, 2)]:
        out = np.empty((4, 5, 5, 6), "c16").transpose(1, 2, 0, 3)[::-1]
        assert bp.fft.fftn(x, dim=dims, out=out, settings=settings) is out
        close(np.ascontiguousarray(out), np.fft.fftn(x, axes=dims), "c16")
    rows = random("f8", 30, 16)[::-1]
    close(bp.fft.rfft(rows, settings=settings), np.fft.rfft(rows), "f8")


def test_names_of_numpy():
    x = random("f8", 4, 6, 5)
    for name in ONE:
        ours, theirs = getattr(bp.fft, name), getattr(np.fft, name)
        np.testing.assert_allclose(ours(x, n=6, axis=1), theirs(x, n=6, axis=1), atol=1e-13)
        for form in "2n":
            many = getattr(bp.fft, name + form)
            np.testing.assert_array_equal(many(x, axes=(1, 0)), many(x, dim=(1, 0)))
            with pytest.raises(TypeError, match="dim and axes are two names"):
                many(x, dim=(0, 1), axes=(1, 2))
        assert bp.explain(ours, x, axis=1).problem == bp.explain(ours, x, dim=1).problem
    for name in ("fftshift", "ifftshift"):
        np.testing.assert_array_equal(getattr(bp.fft, name)(x, axes=(0, 2)), getattr(np.fft, name)(x, axes=(0, 2)))
    with pytest.raises(TypeError, match="dim and axis are two names"):
        bp.fft.fft(x, dim=0, axis=0)


def test_names_of_the_array_api():
    """All functions of the fft extension are present, and take the standard's arguments by position or name."""
    x = random("c16", 4, 6)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        getattr(bp.fft, name)(x.real.copy(), n=None, axis=-1, norm="backward")
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        getattr(bp.fft, name)(x.real.copy(), s=None, axes=None, norm="backward")
    for name in ("fftshift", "ifftshift"):
        getattr(bp.fft, name)(x, axes=None)
    for name in ("fftfreq", "rfftfreq"):
        got = getattr(bp.fft, name)(5, d=0.5, dtype=np.float32, device="cpu")
        assert got.dtype == np.float32 and getattr(bp.fft, name)(5, dtype=None, device=None).dtype == "f64"
        with pytest.raises(bp.BadValueError, match="device: .* 'cpu', but got 'cuda'"):
            getattr(bp.fft, name)(5, device="cuda")


def test_signatures():
    for name in ONE:
        for form, size, dim, word in (("", "n", -1, "axis"), ("2", "s", (-2, -1), "axes"), ("n", "s", None, "axes")):
            function = getattr(bp.fft, name + form)
            parameters = inspect.signature(function).parameters
            assert list(parameters) == ["input", size, "dim", "norm", word, "out", "settings"] and parameters["dim"].default == dim
            assert parameters[word].kind is inspect.Parameter.KEYWORD_ONLY
            assert function.__name__ == function.__qualname__ == name + form and function.__doc__ and pickle.loads(pickle.dumps(function)) is function


def test_examples_in_docstrings():
    done = doctest.testmod(bp.fft, extraglobs={"array": array.array, "np": np, "backplane": bp})
    assert done.failed == 0 and done.attempted >= 12
