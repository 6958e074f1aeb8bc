"""Every package says what it is and lists what is in it."""

import importlib
import pkgutil

import pytest

import sophron

PACKAGES = sorted(one.name for one in pkgutil.walk_packages(sophron.__path__, "sophron.") if one.ispkg)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_its_modules(name):
    package = importlib.import_module(name)
    modules = sorted(one.name for one in pkgutil.iter_modules(package.__path__) if not one.name.startswith("_"))
    assert package.__all__ == modules
    assert package.__doc__
