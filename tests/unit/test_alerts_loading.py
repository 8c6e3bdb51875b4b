"""penstock.yaml: the documents' own file is read as it is; what is wrong is told with its line."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from penstock import InvalidOption
from penstock.alerts.loading import load, parse
from penstock.alerts.rules import BUILT_IN, Severity
from penstock.model.redaction import redacted

DOCUMENT = """
# Alert configuration
alerts:
  queue_depth_high:
    condition: waiting > 1000
    severity: warning
    channels: [slack]
    message: "Queue {{queue}} depth high: {{waiting}} jobs waiting"

  error_rate_high:
    condition: error_rate > 0.05
    severity: critical
    channels: [slack, pagerduty]
    message: "Queue {{queue}} error rate: {{error_rate}}%"

  dlq_threshold:
    condition: dlq_size > 100
    severity: warning
    channels: [slack]
    message: "Dead letter queue size: {{dlq_size}}"

  worker_down:
    condition: worker_count < expected_workers
    severity: critical
    channels: [slack, pagerduty]
    message: "Worker down: {{queue}} ({{worker_count}}/{{expected_workers}})"

  stalled_jobs:
    condition: stalled_count > 0 for 5m
    severity: warning
    channels: [slack]
    message: "Stalled jobs detected in {{queue}}: {{stalled_count}}"

  job_timeout:
    condition: active_duration > timeout_threshold
    severity: warning
    channels: [slack]
    message: "Job {{job_name}} running for {{duration}}s (timeout: {{timeout}}s)"
"""
WHOLE = """
channels:
  slack: $SLACK_URL
  mail:
    email: [ops@example.com, night@example.com]
    smtp: smtp://mail.example.com
    from: penstock@example.com
  ops:
    webhook: https://ops.example.com/alerts
    secret: [$NEW_SECRET, $OLD_SECRET]
    allow: [10.0.0.0/8]
    ports: [9000]
queues:
  email: {expected_workers: 3}
quiet_hours: {from: 22:00, to: 07:30, tz: America/Sao_Paulo, below: error}
every: 10s
group_every: 1m
repeat_every: 0
recover_after: 2m
alerts:
  queue_depth_high:
    condition: waiting > 5000 for 1m
  dlq_threshold: off
  slow:
    condition: processing_time > 30
    severity: error
    message: "{{queue}} takes {{processing_time}}s"
    channels: ops
"""
ENVIRONMENT = {"SLACK_URL": "slack://a/b/c", "NEW_SECRET": "n" * 16, "OLD_SECRET": "o" * 16}


def test_the_documents_own_file_is_read_and_says_what_is_built_in() -> None:
    found = parse(DOCUMENT)
    declared = {rule.name: rule for rule in found.rules}
    for name in (
        "queue_depth_high",
        "error_rate_high",
        "dlq_threshold",
        "worker_down",
        "stalled_jobs",
        "job_timeout",
    ):
        rule, built_in = declared[name], BUILT_IN[name]
        assert (rule.condition.text, rule.severity) == (built_in.condition.text, built_in.severity)
        assert (rule.channels, rule.message) == (built_in.channels, built_in.message)
        assert found.told(rule) == ()  # no channel is declared


def test_a_file_adds_to_the_built_in_rules_changes_them_and_switches_them_off() -> None:
    found = parse(WHOLE, ENVIRONMENT)
    rules = {rule.name: rule for rule in found.rules}
    assert rules.keys() == BUILT_IN.keys() - {"dlq_threshold"} | {"slow"}
    deep = rules["queue_depth_high"]
    assert (deep.condition.text, deep.condition.hold) == ("waiting > 5000 for 1m", 60)
    assert (deep.message, found.told(deep)) == (BUILT_IN["queue_depth_high"].message, ("slack",))
    assert (rules["slow"].severity, found.told(rules["slow"])) == (Severity.ERROR, ("ops",))
    assert (found.every, found.group_every, found.pace.repeat_every, found.pace.recover_after) == (
        10,
        60,
        0,
        120,
    )
    assert found.expected_workers == {"email": 3}
    assert found.quiet is not None
    assert (found.quiet.since, found.quiet.until, found.quiet.below) == (
        time(22),
        time(7, 30),
        Severity.ERROR,
    )
    assert found.quiet.zone == ZoneInfo("America/Sao_Paulo")


def test_channels_are_read_with_their_secrets_from_the_environment() -> None:
    channels = parse(WHOLE, ENVIRONMENT).channels
    assert (channels["slack"].kind, channels["slack"].url) == ("apprise", "slack://a/b/c")
    assert channels["mail"].to == ("ops@example.com", "night@example.com")
    ops = channels["ops"]
    assert (ops.secrets, ops.allow) == (("n" * 16, "o" * 16), ("10.0.0.0/8",))
    assert {443, 9000} <= ops.ports


def test_built_in_rules_whose_channels_are_not_there_go_to_all() -> None:
    found = parse("channels: {ops: 'json://ops.example.com', night: 'json://night.example.com'}")
    assert {found.told(rule) for rule in found.rules} == {("ops", "night")}


@pytest.mark.parametrize("secret", ["secret: short", "secret: $S", "name: x", "secret: [[]]"])
def test_our_own_words_about_a_secret_are_not_taken_for_one(secret: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        parse(f"channels:\n  ops: {{webhook: 'https://x.example.com', {secret}}}")
    assert redacted(str(refused.value)) == str(refused.value)


@pytest.mark.parametrize(
    ("yaml", "complaint"),
    [
        ("alerts:\n  x: {condition: 'waiting >', severity: error, message: m}", "line 2: alerts.x.condition"),
        (
            "alerts:\n  x:\n    condition: waitin > 1\n    severity: error\n    message: m",
            "line 3.*'waiting'",
        ),
        ("alerts:\n  x:\n    condition: waiting > 1\n    severity: bad\n    message: m", "line 4.*critical"),
        (
            "alerts:\n  x:\n    condition: waiting > 1\n    severity: error",
            "line 2: alerts.x: has no message",
        ),
        ("alerts:\n  x:\n    conditon: waiting > 1", "line 3.*did you mean 'condition'"),
        ("alerts:\n  dlq_threshold:\n    message: '{{dlq_sise}}'", "line 3.*'dlq_size'"),
        ("alerts:\n  dlq_threshold:\n    message: '{{job_id}} {{schedule}}'", "line 3.*at once"),
        ("alerts:\n  Bad Name: off", "line 2.*lower case"),
        ("alerts:\n  x: 7", "line 2: alerts.x must be"),
        ("alerts: [x]", "line 1: alerts must be"),
        ("alerts:\n  3: off", "line 1.*3 is not a name"),
        ("[]", "line 1: must be names"),
        ("alert: {}", "line 1: alert is not known; did you mean 'alerts'"),
        ("channels: {a: 'json://x'}\nalerts:\n  dlq_threshold: {channels: [b]}", "line 3.*there are: a"),
        ("alerts:\n  dlq_threshold: {channels: 7}", "line 2.*list of texts"),
        ("channels:\n  ops: {webhook: 'https://x.example.com'}", "line 2.*has a secret"),
        ("channels:\n  ops: {webhook: 'https://x.example.com', secret: short}", "line 2.*16 characters"),
        (
            "channels:\n  ops: {webhook: 'https://u:hush@x', secret: $S}",
            "line 2: channels.ops.secret – the env.* S ",
        ),
        (
            "channels:\n  ops: {webhook: 'https://x:9', secret: 0123456789abcdef}",
            "line 2.*add 9 to its `ports`",
        ),
        ("channels:\n  ops: {webhook: 'https://x', secret: 0123456789abcdef, ports: [0]}", "line 2.*65535"),
        (
            "channels:\n  ops: {webhook: 'https://x', secret: 0123456789abcdef, allow: [localhost]}",
            "line 2.*10.0.0.0",
        ),
        ("channels:\n  ops: {email: 'a@b.com'}", "line 2.*needs smtp"),
        ("channels:\n  ops: {email: 'a b', smtp: 'smtp://x', from: 'a@b'}", "line 2.*ops@example.com"),
        ("channels:\n  ops: {email: 'a@b', smtp: 'http://hush', from: 'a@b'}", "line 2.*smtps"),
        ("channels:\n  ops: {pigeon: x}", "line 2: channels.ops: takes a URL of Apprise"),
        ("channels:\n  ops: hush", "line 2.*slack://"),
        ("quiet_hours: {from: 22:00}", "line 1: quiet_hours.to is missing"),
        ("quiet_hours: {from: 25:00, to: 07:00}", "line 1.*such as 22:00"),
        ("quiet_hours: {from: 22:00, to: 07:00, tz: Mars}", "line 1.*no time zone"),
        ("every: soon", "line 1: every: 'soon' is not a length"),
        ("queues:\n  email: {expected_workers: -1}", "line 2.*from 0 on"),
        ("every: 10s\nevery: 20s", "line 2: 'every' is given twice"),
        ("a: &x [1]\nb: *x", "line 2: anchors"),
        ("alerts:\n\t- x", "line 2"),
        ("a: [", "line 1"),
        pytest.param("[" * 5_000 + "]" * 5_000, "line 1: it is too deep", id="deep"),
        ("x: !!python/object/apply:os.system ['echo hush']", "line 1: could not determine a constructor"),
        pytest.param("#" * 300_000, "more than", id="long"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_without_secrets(yaml: str, complaint: str) -> None:
    with pytest.raises(InvalidOption, match=complaint) as refused:
        parse(yaml, {})
    assert "hush" not in str(refused.value)


def test_without_a_file_there_are_the_built_in_rules_and_off_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = load(None)
    assert found is not None
    assert found.rules == tuple(BUILT_IN.values())
    assert load("off") is None
    Path("penstock.yaml").write_text("alerts: {dlq_threshold: off}")
    changed = load(None)
    assert changed is not None
    assert len(changed.rules) == len(BUILT_IN) - 1
    Path("penstock.yaml").write_text("# nothing yet\n")
    assert load(None) == found
    Path("other.yaml").write_text("every: soon")
    with pytest.raises(InvalidOption, match=r"other.yaml: line 1: every"):
        load("other.yaml")
    with pytest.raises(InvalidOption, match=r"gone.yaml cannot be read"):
        load("gone.yaml")
