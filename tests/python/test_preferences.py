"""Preferred libraries are looked at when they are assigned, the same for products, linear algebra and transforms."""

import warnings

import pytest

import backplane as torch

PREFERENCES = {"blas.preferred": "matrix products are", "linalg.preferred": "linear algebra is", "fft.preferred": "Fourier transforms are"}


@pytest.mark.parametrize("name", PREFERENCES)
def test_assigned_preferences_are_looked_at(name):
    """As dispatch.fallback says: by a warning, an exception, or not at all."""
    row, family = torch.setting(name), name.partition(".")[0]
    ways = (lambda value: row.set(value), lambda value: setattr(getattr(torch.settings, family), "preferred", value),
            lambda value: torch.set_flags({name: value}), lambda value: torch.settings.__setitem__(name, value))
    for write in ways:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for fine in ("native", "", "default"):
                write(fine)
                assert row.get() == fine
        with pytest.warns(torch.Warning, match=f"^{name}: no library 'nativx' was found; {PREFERENCES[name]} offered by native.*'native'"):
            write("nativx")
        assert row.get() == "nativx"
        row.set("native")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(torch.Warning):
                write("nativx")
            assert row.get() == "native"  # a warning that is made an exception keeps the assignment from happening
            with torch.flags(dispatch__fallback="allow"):
                write("elsewhere")
            assert row.get() == "elsewhere"
        with torch.flags(dispatch__fallback="strict"), pytest.raises(torch.Error, match="no library 'nativx'") as caught:
            write("nativx")
        assert caught.value.status == "E_NOT_FOUND" and row.get() == "elsewhere"
        row.unset()
    torch.Options({name: "nativx"})  # calls with these say what happens
