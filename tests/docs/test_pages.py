"""Nothing is undocumented: commands, settings, public names; and no link leads nowhere."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import typer

import penstock
import penstock.testing
from penstock.cli.main import app
from penstock.model import errors
from penstock.tasks.declared import TaskOptions
from penstock.tasks.settings import Settings
from penstock.why import Because

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(generator().PAGES))
def test_a_page_made_from_code_is_up_to_date(name: str) -> None:
    made = generator().PAGES[name]()
    assert (DOCS / name).read_text() == made, "run `make format`"


def test_every_command_and_option_is_on_the_commands_page() -> None:
    page = (DOCS / "cli.md").read_text()
    commands = dict(generator().walk("penstock", typer.main.get_command(app)))
    assert {"penstock worker", "penstock dlq recover-all"} <= commands.keys()
    for name, command in commands.items():
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert section, f"{name} is not documented"
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert f"`{parameter.opts[0]}`" in section
                assert parameter.help, f"{name} {parameter.opts[0]} has no help"


def test_every_command_says_what_it_does_in_one_line() -> None:
    for name, command in generator().walk("penstock", typer.main.get_command(app)):
        first = (command.help or "").partition("\n")[0]
        assert 0 < len(first) <= 80, f"{name}: {first!r}"


def test_every_setting_is_documented_with_its_environment_names() -> None:
    page = (DOCS / "settings.md").read_text()
    for name, field in Settings.model_fields.items():
        assert f"| `{name}` |" in page
        for choice in getattr(field.validation_alias, "choices", [f"PENSTOCK_{name.upper()}"]):
            assert f"`{choice}`" in page


def test_every_answer_to_why_is_on_its_page() -> None:
    page = (DOCS / "why.md").read_text()
    assert [because.value for because in Because if f"`{because.value}`" not in page] == []


@pytest.mark.parametrize("option", TaskOptions.__dataclass_fields__)
def test_every_option_of_a_task_is_in_the_guide(option: str) -> None:
    assert f"`{option}`" in (DOCS / "guide.md").read_text()


@pytest.mark.parametrize("name", penstock.__all__)
def test_every_public_name_is_in_the_docs(name: str) -> None:
    written = "".join((DOCS / page).read_text() for page in ("guide.md", "policies.md", "settings.md"))
    assert re.search(rf"\b{name}\b", written), f"{name} is not documented"


@pytest.mark.parametrize("name", penstock.testing.__all__)
def test_every_name_for_tests_exists_and_has_a_text(name: str) -> None:
    assert getattr(penstock.testing, name).__doc__


def test_the_public_names_are_pinned() -> None:
    assert penstock.__all__ == [
        "AccessRefused",
        "ActionRefused",
        "Call",
        "CalledInLoop",
        "CircuitBreaker",
        "CircuitOpen",
        "Contended",
        "Context",
        "Debounce",
        "Disabled",
        "EngineError",
        "EngineFull",
        "EngineUnavailable",
        "EngineUnsafe",
        "EnqueueError",
        "FailureClass",
        "Flow",
        "FlowHandle",
        "InvalidArguments",
        "InvalidOption",
        "InvalidValue",
        "Job",
        "JobCancelled",
        "JobFailed",
        "JobHandle",
        "JobNotFound",
        "LeaseLost",
        "MissingExtra",
        "NoOp",
        "Node",
        "NotSupported",
        "OutcomeUnknown",
        "Penstock",
        "PenstockError",
        "Priority",
        "Problem",
        "Queue",
        "RateLimited",
        "ResultDropped",
        "ResultTimeout",
        "ResultUnavailable",
        "Retry",
        "SchemaMissing",
        "SchemaTooNew",
        "Secret",
        "Settings",
        "Signal",
        "Snooze",
        "State",
        "SyncContext",
        "SyncTransaction",
        "Task",
        "Throttle",
        "Transaction",
        "TransactionTooLong",
        "UnknownQueue",
        "UnknownTask",
        "Unrecoverable",
        "Upstream",
        "ValueTooLarge",
        "WorkerExpired",
        "WorkerStuck",
    ]
    assert sorted(penstock.__all__) == penstock.__all__ == dir(penstock)
    assert all(hasattr(penstock, name) for name in penstock.__all__)


def test_every_error_stands_in_the_tree() -> None:
    found = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PenstockError)
    }
    assert found == set(re.findall(r"\b[A-Z]\w+", errors.__doc__ or "")) & found
    assert found <= set(penstock.__all__), "what is raised can be caught by a public name"


def links() -> list[object]:
    return [
        pytest.param(page, target, id=f"{page.name}->{target}")
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
        if "://" not in target
    ]


@pytest.mark.parametrize(("page", "target"), links())
def test_a_link_between_pages_resolves(page: Path, target: str) -> None:
    file, _, anchor = target.partition("#")
    found = (page.parent / file).resolve() if file else page
    assert found.is_file(), f"{found} does not exist"
    if anchor:
        headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
        assert anchor in {_slug(heading) for heading in headings}


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or not page.is_file():
            continue
        seen.add(page)
        targets = re.findall(r"\]\(([^)\s#]+\.md)[^)]*\)", page.read_text())
        todo += [(page.parent / target).resolve() for target in targets if "://" not in target]
    assert {page.resolve() for page in PAGES} <= seen


def test_the_page_on_alerts_has_every_rule_and_every_name_and_its_file_is_read() -> None:
    from penstock.alerts.loading import parse
    from penstock.alerts.names import NAMES
    from penstock.alerts.rules import BUILT_IN

    page = (DOCS / "alerts.md").read_text()
    for rule in BUILT_IN.values():
        assert f"| `{rule.name}` | `{rule.condition.text}`" in page
    assert [name for name in NAMES if f"`{name}`" not in page] == []
    example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    variables = dict.fromkeys(re.findall(r"\$([A-Z_]+)", example), "smtp://a-long-enough-value")
    found = parse(example, variables)
    assert found.channels.keys() == {"slack", "pagerduty", "mail", "ops"}
