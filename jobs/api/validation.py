"""Says in words what pydantic found wrong with a request."""

from collections.abc import Sequence
from typing import Any

from jobs.api.errors import ApiError
from jobs.sanitise import printable

SHOWN = 10  # fields that are named
WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "model_attributes_type": "should be a JSON object",
    "dict_type": "should be a JSON object",
    "json_invalid": "is not valid JSON",
}


def refusal(errors: Sequence[dict[str, Any]]) -> ApiError:
    """One sentence for people; what is wrong with each field for programs."""
    fields: dict[str, str] = {}
    for error in errors[:SHOWN]:
        fields.setdefault(field_of(error), problem_of(error))
    message = "; ".join(f"{name} {problem}" for name, problem in fields.items())
    return ApiError(422, "invalid", f"The request is not valid: {message}.", fields=fields)


def field_of(error: dict[str, Any]) -> str:
    """Its name, or `body` for the whole. A place begins with where it was sent and, in a body, with our name for it."""
    source, *place = error["loc"]
    if source == "body":
        place = place[1:]
    return printable(".".join(map(str, place)), 100) or source


def problem_of(error: dict[str, Any]) -> str:
    if error["type"] == "too_long":
        return f"has more than {error['ctx']['max_length']} items"
    return WORDS.get(error["type"]) or printable(
        str(error["msg"]).replace("Input should", "should", 1).rstrip("."), 300
    )
