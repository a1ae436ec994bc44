"""How the API of the site is asked for something."""

import http.client
import json
from typing import Any


def post(port: int, token: str, path: str, body: dict[str, object]) -> dict[str, Any]:
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        server.request("POST", path, json.dumps(body), headers)
        answer = server.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise OSError(f"{answer.status}: {text[:300]!r}")
        return dict(json.loads(text))
    finally:
        server.close()
