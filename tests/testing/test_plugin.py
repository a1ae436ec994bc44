"""The plugin that pytest loads in every run costs nothing, and the package has the names it promises."""

from importlib import import_module

import pytest

from jobs import testing
from tests.test_public_api import in_a_fresh_interpreter


def test_the_plugin_imports_neither_django_nor_models():
    loaded = in_a_fresh_interpreter("import pytest, sys, jobs.testing.plugin; print(*sys.modules)").split()
    assert "jobs.testing.plugin" in loaded
    ours = {name for name in loaded if name.startswith("jobs")}
    assert ours == {"jobs", "jobs.testing", "jobs.testing.plugin"}
    assert [name for name in loaded if name.startswith("django")] == []


@pytest.mark.parametrize("name", testing.__all__)
def test_every_public_name_is_there(name):
    assert getattr(testing, name) is getattr(import_module(f"jobs.testing.{testing.HOMES[name]}"), name)


def test_there_are_no_other_public_names():
    assert sorted(testing.__all__) == sorted(testing.HOMES)
    with pytest.raises(AttributeError, match=r"module 'jobs\.testing' has no attribute 'drian'"):
        _ = testing.drian
