"""Preferred libraries of products, linear algebra and transforms are checked on assignment."""

import warnings

import pytest

import backplane as torch

PREFERENCES = {"blas.preferred": "matrix products are", "linalg.preferred": "linear algebra is", "fft.preferred": "Fourier transforms are"}


@pytest.mark.parametrize("name", PREFERENCES)
def test_assigned_preferences_are_checked(name):
    """Assignment warns, unless dispatch.fallback is allow; a call that cannot use the library applies that setting."""
    row, family = torch.setting(name), name.partition(".")[0]
    ways = (lambda value: setattr(getattr(torch.settings, family), "preferred", value),
            lambda value: torch.set_flags({name: value}), lambda value: torch.settings.__setitem__(name, value))
    for write in ways:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for fine in ("native", "", "default"):
                write(fine)
                assert row.get() == fine
        for fallback in ("warn", "strict"):
            said = f"^{name}: no library 'nativx' was found; {PREFERENCES[name]} offered by native.*'native'"
            with torch.flags(dispatch__fallback=fallback), pytest.warns(torch.Warning, match=said):
                write("nativx")
            assert row.get() == "nativx"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with torch.flags(dispatch__fallback="allow"):
                write("elsewhere")
            assert row.get() == "elsewhere"
            with pytest.raises(torch.Warning):
                write("nativx")
            assert row.get() == "elsewhere"  # a warning that became an exception prevents the assignment
            row.set("nativx"), torch.Options({name: "nativx"})  # stored without a check, as from files
        assert row.get() == "nativx"
        row.unset()


def test_a_failing_set_flags_changes_nothing():
    before = {name: torch.setting(name).stored("process") for name in torch.settings}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(torch.Warning):
            torch.set_flags({"num_threads": 3, "blas.preferred": "native", "fft.preferred": "nativx"})
    assert {name: torch.setting(name).stored("process") for name in torch.settings} == before
