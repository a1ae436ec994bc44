"""What docs/webhooks.md gives to receivers works as it stands."""

import re
import time
from pathlib import Path

import pytest
from django.conf import settings

from jobs.conf import Conf, all_settings
from jobs.list_settings import parse_secrets
from jobs.webhooks.signing import headers

PAGE = (Path(settings.BASE_DIR) / "docs" / "webhooks.md").read_text()
OLD, NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + "QUJD" * 10


def is_genuine(*arguments: object) -> bool:
    names: dict[str, object] = {}
    [example] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(example, "webhooks.md", "exec"), names)
    check = names["is_genuine"]
    assert callable(check)
    return bool(check(*arguments))


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_the_receivers_example_takes_what_either_secret_has_signed(secret):
    sent = headers(parse_secrets(f"{NEW},{OLD}"), "msg_1", int(time.time()), b'{"a":1}')
    assert is_genuine(sent, b'{"a":1}', secret)
    assert not is_genuine(sent, b'{"a":2}', secret)
    assert not is_genuine({**sent, "webhook-id": "msg_2"}, b'{"a":1}', secret)


def test_the_receivers_example_refuses_what_is_old_or_signed_by_others():
    old = headers(parse_secrets(OLD), "msg_1", int(time.time()) - 600, b"{}")
    assert not is_genuine(old, b"{}", OLD)
    assert not is_genuine(headers(parse_secrets(OLD), "msg_1", int(time.time()), b"{}"), b"{}", NEW)


def test_the_page_names_every_setting_of_webhooks():
    ours = {f"JOBS_{setting.name}" for setting in all_settings() if "WEBHOOK" in setting.name}
    ours.discard(f"JOBS_{Conf.ALERT_WEBHOOK_URL.name}")
    assert ours <= set(re.findall(r"JOBS_\w+", PAGE))
