"""The registry of kinds: names, defaults, discovery, and hints for names that are not known."""

import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from jobs.exceptions import InvalidInput, UnknownKind
from jobs.handlers.registry import Kind, Registry, check_function, handler, registry


@pytest.fixture
def own() -> Registry:
    return Registry()


@pytest.fixture
def _kinds_are_put_back() -> Iterator[None]:
    before = {kind.name for kind in registry}
    yield
    for kind in list(registry):
        if kind.name not in before:
            registry.remove(kind.name)


def do_nothing(context: object, **payload: object) -> None:
    """A handler."""


@pytest.mark.usefixtures("_kinds_are_put_back")
def test_the_decorator_registers_a_function_and_leaves_it_as_it_is():
    @handler("test.decorated", queue="slow", max_attempts=9)
    def build(context: object, month: int) -> int:
        return month

    kind = registry.get("test.decorated")
    assert (kind.function, kind.queue, kind.max_attempts) == (build, "slow", 9)
    assert build(None, month=5) == 5


def test_a_kind_is_found_by_its_name(own: Registry):
    kind = Kind("a.b", do_nothing)
    own.add(kind)
    assert own.get("a.b") is kind
    assert own.find("a.c") is None
    own.remove("a.b")
    assert own.find("a.b") is None


def test_kinds_are_listed_by_name(own: Registry):
    for name in ("b", "c", "a"):
        own.add(Kind(name, do_nothing))
    assert [kind.name for kind in own] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["", "two words", ".hidden", "-x", "k" * 101, "a/b", "ü", "a\n"])
def test_a_name_with_odd_characters_is_refused(own: Registry, name):
    with pytest.raises(InvalidInput, match="A kind is named with"):
        own.add(Kind(name, do_nothing))


def test_two_handlers_of_one_kind_are_refused_and_the_same_again_is_not(own: Registry):
    own.add(Kind("a", do_nothing))
    own.add(Kind("a", do_nothing, queue="other"))
    with pytest.raises(InvalidInput, match="Two handlers are registered for the kind 'a'"):
        own.add(Kind("a", lambda context: None))


def test_an_unknown_kind_brings_a_hint(own: Registry):
    own.add(Kind("reports.build", do_nothing))
    with pytest.raises(UnknownKind, match=r"kind 'reports.biuld'. Did you mean 'reports.build'\?"):
        own.get("reports.biuld")
    with pytest.raises(UnknownKind, match=r"Register it with @handler in an installed app's job_handlers.py"):
        own.get("something.else")


def test_modules_of_handlers_are_imported_when_the_first_kind_is_asked_for(own: Registry, tmp_path, monkeypatch):
    (tmp_path / "lazy_handlers_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    own.discover_with(lambda: ["lazy_handlers_of_a_test"])
    own.add(Kind("a", do_nothing))
    assert "lazy_handlers_of_a_test" not in sys.modules
    own.find("a")
    assert sys.modules.pop("lazy_handlers_of_a_test")


def test_a_module_that_cannot_be_imported_does_not_stop_the_others(own: Registry, tmp_path, monkeypatch, caplog):
    (tmp_path / "broken_handlers_of_a_test.py").write_text("raise RuntimeError('no libfoo here')")
    (tmp_path / "sound_handlers_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    own.discover_with(lambda: ["broken_handlers_of_a_test", "sound_handlers_of_a_test"])
    with pytest.raises(UnknownKind, match="broken_handlers_of_a_test: no libfoo here"):
        own.get("anything")
    assert sys.modules.pop("sound_handlers_of_a_test")
    assert "cannot be imported" in caplog.text
    assert own.broken() == {"broken_handlers_of_a_test": "RuntimeError: no libfoo here"}


def test_a_worker_that_lacks_a_module_may_claim_only_what_it_knows(own: Registry):
    own.add(Kind("a", do_nothing))
    own.discover_with(list)
    assert own.claimable() == [], "all"
    own.discover_with(lambda: ["no_such_module_of_a_test"])
    assert own.claimable() == ["a"]


def test_which_errors_are_fatal_is_the_kinds_word(own: Registry):
    kind = Kind("a", do_nothing, fatal_on=(LookupError,), retry_on=(KeyError,))
    assert kind.is_fatal(IndexError())
    assert not kind.is_fatal(KeyError())
    assert not kind.is_fatal(ValueError())
    assert not Kind("b", do_nothing).is_fatal(ValueError())


def test_a_coroutine_function_is_accepted_and_what_yields_is_not():
    async def later(context: object) -> None:
        """Fine."""

    async def later_pieces(context: object) -> AsyncIterator[int]:
        yield 1

    def pieces(context: object) -> Iterator[int]:
        yield 1

    class Pieces:
        def __call__(self, context: object) -> Iterator[int]:
            yield 1

    assert check_function("a", later) is later
    for function in (pieces, later_pieces, Pieces()):
        with pytest.raises(InvalidInput, match="The handler of 'a' must not yield"):
            check_function("a", function)
    with pytest.raises(InvalidInput, match="The handler of 'a' must be a function, not 'b'"):
        check_function("a", "b")  # type: ignore[arg-type]  # what a newcomer writes


def test_a_kind_runs_in_a_thread_with_others_unless_it_says_otherwise():
    kind = Kind("a", do_nothing)
    assert (kind.isolation, kind.exclusive, kind.stall_timeout) == ("thread", False, None)
