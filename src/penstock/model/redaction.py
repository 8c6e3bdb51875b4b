"""Takes secrets out of text before it is stored, logged or shown.

Known by their form: credentials in URLs, bearer and basic tokens, our own tokens, private keys, and whatever
is named password, secret, token, key … And known by their value: what a task declares as secret.
Patterns do not backtrack, and no more of a text is looked at than can be kept of it.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

MASK = "•••"
MAX_TEXT = 16_000  # characters that are looked at, and kept, of one text
# As `html.escape` does it, whose module brings half a megabyte of names along.
_HTML_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_HTML = _HTML_TEXT | str.maketrans({'"': "&quot;", "'": "&#x27;"})
_LONGEST_CUT = 2_000  # characters of a word
MAX_VALUES = 200  # secret values of one job
_WORD = 4  # characters: a shorter value is only hidden where it stands alone
_TOKEN = 16  # characters: as long as the user of a URL is not, but a token in its place is

Clean: TypeAlias = Callable[[str], str]

_NAME = (
    r"(?:passw(?:or)?d\w{0,20}|passphrase|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|token|credentials?"
    r"|(?:api|access|private|auth|signing|encryption)[_-]?key)"
)
_QUOTED = r"""b?(?P<mark>\\{0,3}["'])(?:(?!(?P=mark))(?:\\.|[^\\\n]))*+"""
_END = r"\\{0,3}[\"']"
_BARE = r"""(?:\\[^"'nrt]|[^\s&"'\\])++"""


class _Form(NamedTuple):
    hints: tuple[str, ...]  # in small letters: where none of these is in a text, nothing of this form is
    pattern: re.Pattern[str]
    told: str


_FORMS = tuple(
    _Form(hints, re.compile(pattern), told)
    for hints, pattern, told in (
        (("private key",), r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[\s\S])*+", MASK),
        (
            ("authorization", "cookie"),
            r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\s{0,4}[:=]\s{0,4})[^\r\n\"']++",
            rf"\1\2{MASK}",
        ),
        (("bearer",), r"(?i)\b(bearer\s{1,4}+)[\w.~+/=\-]{8,}+", rf"\1{MASK}"),
        (("basic",), r"\b([Bb]asic\s{1,4}+)(?=[a-z]{0,64}[A-Z0-9+/=])[\w+/\-]{8,}+={0,2}", rf"\1{MASK}"),
        (("pst_",), r"\bpst_[0-9A-Za-z]{4,64}+_[\w\-]++", f"pst_{MASK}"),
        (("psf_",), r"\bpsf_[^\s.\"'&]{1,200}+\.\d{1,12}+\.[0-9a-f]++", f"psf_{MASK}"),
        (("input_value=",), r"(input_value=)[^\n]{0,200}?(, input_type=)", rf"\1{MASK}\2"),
    )
)
_NAME_AT = re.compile(_NAME)
_NAME_END = re.compile(rf"{_NAME}$")
_NAMED = re.compile(
    rf"(?i)(?P<name>{_NAME}(?:{_END}\s{{0,4}},\s{{0,4}}(?=b?{_END})|(?:{_END})?\s{{0,4}}(?:=>|[=:])\s{{0,4}}))"
    rf"(?:{_QUOTED}|{_BARE})"
)
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
_RUN = re.compile(r"""[^\s"'<>]++""")
_PORT = re.compile(r"\d{1,5}[/?#]")


def redacted(text: str) -> str:
    """The text without what has the form, or the name, of a secret."""
    text = _bounded(text)
    if "://" in text and "@" in text:
        text = _RUN.sub(_without_credentials, text)
    small = text.translate(_SMALL)
    for hints, pattern, told in _FORMS:
        if any(hint in small for hint in hints):
            text = pattern.sub(told, text)
    return _without_named(text)


def _without_named(text: str) -> str:
    """Names are looked for in small letters, which is many times faster than in letters of any size."""
    pieces, done = [], 0
    for name in _NAME_AT.finditer(text.translate(_SMALL)):
        found = _NAMED.match(text, name.start()) if name.start() >= done else None
        if found is not None:
            pieces += [text[done : found.end("name")], found["mark"] or "", MASK]
            done = found.end()
    return "".join([*pieces, text[done:]])


def _without_credentials(run: re.Match[str]) -> str:
    """Of characters between blanks or quotes: each URL without its password, or a token in its place."""
    first, *urls = run[0].split("://")
    return "://".join([first, *map(_without_password, urls)])


def _without_password(url: str) -> str:
    credentials, at, rest = url.rpartition("@")
    user, colon, password = credentials.partition(":")
    if not at or _is_place(user) or (colon and _PORT.match(password)):
        return url  # the @ is in its path
    if colon:
        return f"{user}:{MASK}@{rest}"
    return f"{MASK}@{rest}" if len(user) >= _TOKEN else url


def _is_place(user: str) -> bool:
    return any(mark in user for mark in "/?#")


def cleaner(values: Iterable[Any]) -> Clean:
    """Takes these values out of a text too, however they are written there; they are JSON values."""
    forms = {form for value in _strings(values) for form in _forms(value)}
    if not forms:
        return redacted
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    long = [form for form in longest_first if len(form) >= _WORD]
    short = [re.escape(form) for form in longest_first if len(form) < _WORD]
    alone = re.compile(rf"(?<!\w)(?:{'|'.join(short)})(?!\w)") if short else None

    def clean(text: str) -> str:
        text = _bounded(text)
        for form in long:  # far faster than one pattern of them all, which takes long to make
            text = text.replace(form, MASK)
        return redacted(text if alone is None else alone.sub(MASK, text))

    # The values first: what is known by its form may take away a part of one.
    return clean


def without_secrets(value: Any, clean: Clean | None = None) -> Any:
    """A value without the secrets in its texts, and in members of such a name; other values stay.

    With a cleaner for known values, whatever tells one of them when it is written becomes text.
    """
    if isinstance(value, str):
        return (clean or redacted)(value)
    if isinstance(value, Mapping):
        return {
            name: MASK if isinstance(name, str) and named_secret(name) else without_secrets(each, clean)
            for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(each, clean) for each in value]
    if clean is None or value is None or isinstance(value, bool):
        return value
    told = str(value)
    return value if clean(told) == told else clean(told)


def named_secret(name: str) -> bool:
    """Whether a member of this name is likely to be a secret."""
    return _NAME_END.search(name.translate(_SMALL)) is not None


def members_by_name(payload: str) -> dict[str, Any]:
    """The members of a JSON object; none where the text is not one."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _strings(values: Iterable[Any]) -> list[str]:
    """All that is text or a number in these values, and the lines of long texts."""
    found: list[str] = []
    waiting = list(values)
    while waiting and len(found) < MAX_VALUES:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            found += [value, *(line for line in value.splitlines() if len(line) >= 2 * _WORD)]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(json.dumps(value))
    return [text for text in found if text.strip()][:MAX_VALUES]


def _forms(value: str) -> Iterator[str]:
    """A value as it is written in Python, JSON, URLs, HTML, SQL and shells, without the quotes around it."""
    yield value
    if len(value) > MAX_TEXT:
        return  # no text that is looked at has room for it
    safe = value.encode(errors="replace")
    for written in (repr, ascii, json.dumps, _json):
        once = written(value)[1:-1]
        yield once
        yield written(once)[1:-1]
    as_bytes = repr(safe)[2:-1]
    yield as_bytes
    yield repr(as_bytes)[1:-1]
    yield repr(repr(safe))[3:-2]
    yield value.encode("unicode_escape").decode()
    yield quote(safe)
    yield quote(safe, safe="")
    yield quote_plus(safe)
    yield value.translate(_HTML)
    yield value.translate(_HTML_TEXT)
    yield value.replace("'", "''")
    yield value.replace('"', '""')
    yield value.replace("'", "'\"'\"'")  # as shlex.quote does it
    yield from _base64(safe)


def _json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _base64(value: bytes) -> Iterator[str]:
    """In base64, also amid other bytes: as in `user:password`. Letters that it shares with those stay."""
    if len(value) < _WORD:
        return
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(value).decode()
        for before, shared in enumerate((0, 2, 3)):
            own = (before + len(value)) * 8 // 6
            if own - shared >= 2 * _WORD:
                yield encode(bytes(before) + value)[shared:own].decode()


def _bounded(text: str) -> str:
    """Both ends of a text that is too long. A word that is cut could be half a secret: it goes too."""
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2 - 50
    head, tail = text[:half], text[-half:]
    head = head[: max(head.rfind(" "), head.rfind("\n"), half - _LONGEST_CUT)]
    starts = [place for place in (tail.find(" "), tail.find("\n"), _LONGEST_CUT) if place >= 0]
    tail = tail[min(starts) :]
    return f"{head} … [{len(text) - len(head) - len(tail)} cut] …{tail}"
