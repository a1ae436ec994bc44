"""What .env.example says is what the code reads."""

import re
from pathlib import Path

from django.conf import settings

from jobs.conf import all_settings

EXAMPLE = Path(settings.BASE_DIR) / ".env.example"
LINE = re.compile(r"^#?([A-Z][A-Z_]+)=(.*)$", re.MULTILINE)


def documented() -> dict[str, str]:
    return dict(LINE.findall(EXAMPLE.read_text()))


def test_every_setting_is_documented_and_nothing_else_is():
    ours = {name for name in documented() if name.startswith("JOBS_")}
    assert ours == {f"JOBS_{setting.name}" for setting in all_settings()}


def test_the_values_shown_are_the_defaults():
    for setting in all_settings():
        shown = documented()[f"JOBS_{setting.name}"]
        assert setting.parse(shown) == setting.default, setting.name


def test_every_name_that_the_project_reads_is_documented():
    source = (Path(settings.BASE_DIR) / "project" / "settings.py").read_text()
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source)) - {"TEST_DATABASE_FILE"}
    assert read <= documented().keys()
