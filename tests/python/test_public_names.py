"""dir() of each public module has its public names and no others, and each name works and is described."""

import importlib
import importlib.util
import inspect
import pydoc
import types

import pytest

import backplane as bp

# Modules that are imported when they are needed, and what they need.
APART = {"backplane.backends.xeon.run_cpu": None, "backplane.torch": "torch", "backplane.torch_backend": "torch",
         "backplane.utils.threadpoolctl": "threadpoolctl"}
# Names that other modules give on purpose.
HIDING = {"bool", "compile", "float", "int"}


def modules():
    """Returns the public modules that are reached from the package by dir()."""
    found, rest = [], [bp]
    while rest:
        module = rest.pop()
        found.append(module)
        rest += [value for value in map(lambda name: getattr(module, name, None), dir(module))
                 if inspect.ismodule(value) and value.__name__.startswith(f"{module.__name__}.") and value not in found]
    return sorted({module.__name__ for module in found} | set(APART))


@pytest.fixture(params=modules())
def module(request):
    needs = APART.get(request.param)
    if needs and importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    return importlib.import_module(request.param)


def test_all_public_modules_are_reached():
    names = modules()
    assert {"backplane", "backplane.linalg", "backplane.nn.utils.rnn", "backplane.backends.cudnn", "backplane.utils.deterministic"} <= set(names)
    assert len(names) > 35 and not [name for name in names if "._" in name.replace(".__config__", "")]


def test_dir_has_public_names(module):
    names = dir(module)
    assert names == sorted(set(names)) and names
    public = {name for name in module.__all__ if not name.startswith("_") or name.endswith("__")}
    assert public <= set(names)
    settings = {name for name in vars(type(module)) if not name.startswith("_")}
    modules_inside = {name for name in names if isinstance(getattr(module, name), types.ModuleType)}
    assert set(names) - public - settings - modules_inside <= (HIDING if module is bp else set())
    assert not [name for name in names if name.startswith("_") and not name.endswith("__")]


def test_each_name_is_there_and_is_the_package_s(module):
    for name in dir(module):
        value = getattr(module, name)
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        assert not isinstance(home, str) or home.startswith("backplane") or name in HIDING, (name, home)


def test_help_describes_the_module(module):
    assert inspect.getdoc(module).strip()
    text = pydoc.plain(pydoc.render_doc(module))
    assert "TYPE_CHECKING" not in text and "annotations = " not in text
    for name in dir(module):
        value = getattr(module, name)
        if (inspect.isroutine(value) or inspect.isclass(value)) and value is not bp.Setting:  # whose objects describe themselves
            assert (inspect.getdoc(value) or "").strip(), name


def test_star_import_takes_no_name_of_python_s():
    taken = {}
    exec("from backplane import *", taken)
    assert "matmul" in taken and not HIDING & set(taken) and HIDING <= set(dir(bp))
