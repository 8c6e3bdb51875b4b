"""Jobs with edges, drawn as a tree: a job stands below the one it waits for.

One that waits for several stands where their ways part, and names them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

DEEPEST = 30  # levels that are indented: a long chain goes on straight down
MOST_ALIKE = 6  # jobs side by side, of one name and state, that are drawn one by one


class Branch(NamedTuple):
    """One job of the tree, after those it waits for."""

    id: str
    name: str
    after: tuple[str, ...] = ()
    state: str = ""
    detail: str = ""


class _Place:
    """Where one job stands."""

    __slots__ = ("below", "branch", "depth", "parent")

    def __init__(self, branch: Branch | None, parent: _Place | None) -> None:
        self.branch = branch
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.below: list[_Place] = []


def draw(branches: Sequence[Branch]) -> Iterator[str]:
    """The lines of the tree, in the order of the branches. Who is not among them is nobody's parent."""
    names = {branch.id: branch.name for branch in branches}
    yield from _lines(_planted(branches), names)


def _planted(branches: Sequence[Branch]) -> _Place:
    root = _Place(None, None)
    places: dict[str, _Place] = {}
    for branch in branches:
        parent: _Place | None = None
        for upstream in branch.after:
            if upstream in places:
                parent = places[upstream] if parent is None else _parting(parent, places[upstream])
        place = places[branch.id] = _Place(branch, parent or root)
        (parent or root).below.append(place)
    return root


def _parting(one: _Place, other: _Place) -> _Place:
    """The last place that lies on the ways to both."""
    while one is not other:
        if one.depth >= other.depth and one.parent is not None:
            one = one.parent
        elif other.parent is not None:
            other = other.parent
    return one


def _lines(root: _Place, names: dict[str, str]) -> Iterator[str]:
    left = [(group, "", n == 0) for n, group in enumerate(reversed(_groups(root.below)))]
    while left:
        group, indent, last = left.pop()
        yield f"{indent}{'└─ ' if last else '├─ '}{_told(group, names)}"
        deeper = indent + ("   " if last else "│  ")
        inner = deeper if len(deeper) <= 3 * DEEPEST else indent
        left += [(below, inner, n == 0) for n, below in enumerate(reversed(_groups(group[0].below)))]


def _groups(places: list[_Place]) -> list[list[_Place]]:
    """Side by side; many that are alike, and have nothing below them, as one."""
    groups: list[list[_Place]] = []
    for place in places:
        if groups and _alike(groups[-1][0], place):
            groups[-1].append(place)
        else:
            groups.append([place])
    return [part for g in groups for part in ([g] if len(g) > MOST_ALIKE else [[place] for place in g])]


def _alike(one: _Place, other: _Place) -> bool:
    assert one.branch is not None
    assert other.branch is not None
    return (
        not one.below
        and not other.below
        and (one.branch.name, one.branch.state, one.branch.after)
        == (other.branch.name, other.branch.state, other.branch.after)
    )


def _told(group: list[_Place], names: dict[str, str]) -> str:
    branch = group[0].branch
    assert branch is not None
    if len(group) > 1:
        return "  ".join(filter(None, (f"{len(group):,} × {branch.name}", branch.state)))
    several = _upstreams(branch, names) if len(branch.after) > 1 else ""
    return "  ".join(filter(None, (branch.name, branch.state, branch.detail, several)))


def _upstreams(branch: Branch, names: dict[str, str]) -> str:
    counted = Counter(names.get(upstream, "another job") for upstream in branch.after)
    return f"(after {', '.join(name if n == 1 else f'{n:,} × {name}' for name, n in counted.items())})"
