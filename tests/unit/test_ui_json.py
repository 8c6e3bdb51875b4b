"""Numbers in the dashboard: shown, edited and sent back as they were written."""

from __future__ import annotations

import json

from ui_kit import run

HARD = [
    '{"n":1234567890123456789,"price":1.10,"whole":1.0,"far":1e400,"minus":-0}',
    '[12345678901234567890123,{"deep":[0.1000,[]],"none":{}}]',
    '{"__proto__":{"a":1},"text":"a \\\\ \\" \\u0000 é \\\\\\" {}","list":[true,false,null,-1.5]}',
    '"1.10"',
]
WRONG = ["", "nine", "01", "1 2", "[1,]", '{"a":1,}', "{a:1}", '"open', "[1", '"a\nb"', "+1", ".5", "NaN"]


def test_what_is_read_is_written_back_as_it_was_and_what_is_no_json_is_refused() -> None:
    script = f"""
        const wrong = (text) => {{ try {{ m.readExact(text); return false; }} catch {{ return true; }} }};
        const answer = m.read('{{"ran_for": 1.0, "payload": {{"n": 1234567890123456789}}}}');
        return {{
            back: {json.dumps(HARD)}.map((text) => m.write(m.readExact(text))),
            spaced: m.write(m.readExact(' {{ "a" : [ 1.10 , {{}} ] }} '), 2),
            refused: {json.dumps(WRONG)}.filter(wrong),
            ours: answer.ran_for === 1, theirs: m.write(answer),
            odd: m.write({{ a: undefined, b: [undefined] }}),
        }};
    """
    seen = run("lib/json", script)
    assert seen["back"] == HARD
    assert seen["spaced"] == '{\n  "a": [\n    1.10,\n    {}\n  ]\n}'
    assert seen["refused"] == WRONG
    assert (seen["ours"], seen["theirs"]) == (True, '{"ran_for":1,"payload":{"n":1234567890123456789}}')
    assert seen["odd"] == '{"b":[null]}'
