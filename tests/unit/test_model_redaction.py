"""What is taken out of a text, what is not, and how long that takes at most."""

from __future__ import annotations

import base64
import html
import json
import shlex
import time
from collections.abc import Callable

import pytest

from penstock.model.decide import end_of
from penstock.model.errors import EngineUnavailable, NoOp
from penstock.model.failure import Failure
from penstock.model.masking import Place, Record, masked
from penstock.model.redaction import MASK, MAX_TEXT, cleaner, named_secret, redacted
from penstock.model.retry import Retry

CANARY = "c4n4ry/S3cret"


@pytest.mark.parametrize(
    "text",
    [
        f"cannot connect to postgresql://app:{CANARY}@db.example:5432/shop",
        f"redis://:{CANARY}@cache/0, redis://other:{CANARY}@more@cache2",
        "https://ghp_c4n4ryS3cret0123456789@git.example/x",
        f"Authorization: Bearer {CANARY}",
        f"{{'authorization': 'Basic {CANARY}', 'accept': '*/*'}}",
        f"Cookie: a=b; session={CANARY}",
        f"host=db password={CANARY} user=app",
        f"password = '{CANARY} with \\' a quote'",
        f'{{"api_key": "{CANARY}", "n": 1}}',
        f'"{{\\"client_secret\\": \\"{CANARY}\\"}}"',
        f"https://api.example/v1?access_token={CANARY}&page=2",
        f"('X-Api-Key', '{CANARY}')",
        f"[(b'x-auth-token', b'{CANARY}')]",
        f"API_KEY: {CANARY}",
        f"value [type=int_parsing, input_value='{CANARY}', input_type=str]",
        f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----",
        "pst_0123456789abcdef_c4n4ryS3cret",
        "GET /jobs/x/events?t=psf_c4n4ry.1767225600.0123456789abcdef&seconds=0",
    ],
)
def test_what_has_the_form_of_a_secret_is_taken_out(text: str) -> None:
    told = redacted(text)
    assert MASK in told
    assert "c4n4ry" not in told
    assert "S3cret" not in told


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8080/users/ana@example.com",
        "no mail for ana@example.com, see https://example.com/help",
        "max_tokens=4096 of token_count: 5",
        "KeyError: 'password'",
        "the password must not be empty",
        "basic functionality is missing",
        'File "/app/tokens.py", line 7, in read_secret',
        "postgresql://app@db/shop",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "part",
    [
        *("://:", "://a", "://@", "password", "password='", "token=\\", "bearer ", "input_value=", "pst_a"),
        *("-----BEGIN PRIVATE KEY-----", "cookie:", "secret_access_", '"', "token'\\", "a", "basic a", "\\"),
    ],
)
def test_no_text_takes_long(part: str) -> None:
    clean = cleaner([CANARY, "a" * 1_000, 12])
    began = time.process_time()
    clean(part * (200_000 // len(part)))
    assert time.process_time() - began < 0.5


def test_a_long_text_is_cut_between_words_and_not_in_a_secret() -> None:
    filler = "x " * (MAX_TEXT // 4 - 30)
    told = redacted(f"{filler}postgresql://app:{CANARY * 500}@db{' y' * MAX_TEXT}")
    assert "c4n4ry" not in told
    assert len(told) <= MAX_TEXT


def test_values_are_taken_out_however_they_are_written() -> None:
    value = 'it\'s "so" §ecret\nand-a-second-line'
    clean = cleaner([value, {"deep": ["in-a-list"]}, 123, 4111111111111111, True, None, ""])
    text = f"{value} {value!r} and-a-second-line in-a-list 123 1234 4111111111111111 True None"
    assert clean(text) == f"{MASK} '{MASK}' {MASK} {MASK} {MASK} 1234 {MASK} True None"


@pytest.mark.parametrize(
    "written",
    [
        lambda s: repr(s.encode()),
        lambda s: repr(repr(s.encode())),
        ascii,
        lambda s: s.encode("unicode_escape").decode(),
        html.escape,
        lambda s: json.dumps(json.dumps({"it": s})),
        lambda s: json.dumps(json.dumps({"it": s}, ensure_ascii=False), ensure_ascii=False),
        shlex.quote,
        lambda s: s.replace("'", "''"),
        lambda s: base64.b64encode(s.encode()).decode(),
        lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
        lambda s: base64.b64encode(f"ana:{s}".encode()).decode(),
        lambda s: base64.b64encode(f"anna:{s}:x".encode()).decode(),
        lambda s: base64.b64encode(f"ann:{s}/".encode()).decode(),
    ],
)
@pytest.mark.parametrize(
    "value", ['gr\u00fc\u00dfe & it\'s "so"\\n <secret>', "Zw\u00f6lf\nO'Hara", "p@ss'w0rd?\u20ac"]
)
def test_values_are_known_in_other_tongues(written: Callable[[str], str], value: str) -> None:
    told = cleaner([value])(f"before {written(value)} after")
    left = told.removeprefix("before ").removesuffix(" after")
    assert MASK in left
    assert len(left) <= len(MASK) + 20, left


def test_many_long_values_do_not_take_long() -> None:
    began = time.process_time()
    clean = cleaner([f"{n} it's ü \"" + "x" * 500 for n in range(300)])
    clean("it's ü " * 2_000)
    assert time.process_time() - began < 1.5


def test_members_are_masked_by_name_and_other_text_is_cleaned() -> None:
    declared = Record({"card": Place(whole=True)})
    assert masked('{"card":"4111","n":[1]}', declared) == f'{{"card":"{MASK}","n":[1]}}'
    assert masked('{"n": 1}', declared) == '{"n": 1}'
    assert masked('{"in":[{"api_key":"x"}]}', declared) == f'{{"in":[{{"api_key":"{MASK}"}}]}}'
    assert masked("password=abc", declared) == f"password={MASK}"
    deep = f'{{"a":{"[" * 600}"4111"{"]" * 600}}}'
    assert masked(deep, declared) in (deep, f'{{"a":"{MASK}"}}')
    assert [name for name in ("api_key", "dbPassword", "key", "tokens") if named_secret(name)] == [
        "api_key",
        "dbPassword",
    ]


def test_no_part_of_a_failure_holds_a_secret() -> None:
    def classify(error: BaseException) -> str:
        raise ValueError(f"token={CANARY}")

    def fail() -> None:
        try:
            raise LookupError(f"password={CANARY}")
        except LookupError as cause:
            error = RuntimeError("card 4111-1111 was refused")
            error.code = "CARD-4111-1111"  # type: ignore[attr-defined]
            raise error from cause

    with pytest.raises(RuntimeError) as raised:
        fail()
    end = end_of(raised.value, Retry(), classify, cleaner(["4111-1111"]))
    assert isinstance(end, Failure)
    assert end.message == f"card {MASK} was refused"
    assert "line" in (end.traceback or "")
    assert "c4n4ry" not in repr(end)
    assert "4111" not in repr(end)


def test_the_reason_of_a_no_op_and_the_words_of_an_engine_are_clean() -> None:
    assert CANARY not in repr(end_of(NoOp(f"password={CANARY}"), Retry()))
    assert CANARY not in str(EngineUnavailable(f"cannot connect to redis://:{CANARY}@host"))
