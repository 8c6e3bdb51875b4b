"""What is safe and what is not about a Redis server, told for people who can change it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

from penstock.engine import Finding, Level
from penstock.engines.redis.address import Address
from penstock.engines.redis.wire import ServerError

Info: TypeAlias = dict[str, str]
Ask: TypeAlias = Callable[..., Awaitable[Any]]

NEARLY_FULL = 0.9
SKEW_SECONDS = 2.0
OLDEST = 7
_HERE = ("localhost", "127.0.0.1", "::1")
_SAMPLE = 200  # keys looked at, to name what else is there

_LOST = {
    "always": (Level.OK, "every acknowledged job survives a crash of the server (appendfsync always)"),
    "everysec": (Level.OK, "a crash of the server loses at most the last two seconds (appendfsync everysec)"),
    "no": (
        Level.WARNING,
        "a crash of the machine loses what its kernel had not written yet, 30 seconds as a rule "
        "(appendfsync no); set appendfsync to everysec or always",
    ),
}


async def examine(ask: Ask, address: Address, prefix: bytes) -> list[Finding]:
    """Look at the server's own account of itself."""
    try:
        info = _read(await ask("INFO"))
    except ServerError as error:
        return [Finding("info", Level.WARNING, f"the server does not answer INFO: {error.code}; allow it")]
    found = [_version(info), _eviction(info), _memory(info), _role(info)]
    found.append(_persistence(info, await _setting(ask, "appendfsync"), await _setting(ask, "save")))
    found += _writes(info)
    found.append(await _neighbours(ask, info, address, prefix))
    found.append(await _clock(ask))
    found += _way_in(address)
    return found


def _read(info: bytes) -> Info:
    pairs = (line.partition(":") for line in info.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in pairs}


async def _setting(ask: Ask, name: str) -> str | None:
    """None where the server does not tell: managed ones often forbid CONFIG."""
    try:
        found = await ask("CONFIG", "GET", name)
    except ServerError:
        return None
    return found[1].decode() if found else None


def _version(info: Info) -> Finding:
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = info.get("valkey_version") or info.get("redis_version", "0")
    if int(version.partition(".")[0] or 0) < OLDEST:
        return Finding(
            "version",
            Level.UNSAFE,
            f"{name} {version} is too old; Penstock needs Redis 7 or later, or Valkey",
        )
    # Valkey calls itself standalone by the old name, whatever it is.
    mode = info.get("server_mode") or info.get("redis_mode", "standalone")
    return Finding("version", Level.OK, f"{name} {version}, {mode}")


def _eviction(info: Info) -> Finding:
    policy = info.get("maxmemory_policy")
    if policy is None:
        return Finding(
            "eviction", Level.WARNING, "the server does not tell its maxmemory-policy; it must be noeviction"
        )
    if policy == "noeviction":
        return Finding("eviction", Level.OK, "maxmemory-policy is noeviction: nothing is thrown away")
    return Finding(
        "eviction",
        Level.UNSAFE,
        f"maxmemory-policy is {policy}: when memory is full the server throws jobs away, all of them at once "
        "perhaps; set it to noeviction, and keep caches on a server of their own",
    )


def _memory(info: Info) -> Finding:
    most, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if most and used > NEARLY_FULL * most:
        return Finding(
            "memory",
            Level.WARNING,
            f"memory is {100 * used / most:.0f} % full, soon new jobs are refused; raise maxmemory",
        )
    of = f" of {most:,}" if most else "; no maxmemory is set"
    return Finding("memory", Level.OK, f"{used:,} bytes used{of}")


def _role(info: Info) -> Finding:
    if info.get("role") == "slave":
        return Finding(
            "role", Level.WARNING, "this server is a replica and takes no writes; name the primary"
        )
    replicas = int(info.get("connected_slaves", 0))
    note = (
        f"{replicas} replicas follow; a failover loses what they had not received yet"
        if replicas
        else "no replica follows"
    )
    return Finding("role", Level.OK, f"primary, {note}")


def _persistence(info: Info, fsync: str | None, save: str | None) -> Finding:
    if info.get("aof_enabled") == "1":
        if fsync is None:
            return Finding(
                "persistence", Level.OK, "the append-only file is on; how it is synced is not told"
            )
        return Finding(
            "persistence", *_LOST.get(fsync, (Level.WARNING, f"appendfsync is {fsync}; set it to everysec"))
        )
    lost = "everything since the last snapshot" if save else "every job"
    if save is None:
        lost = "everything since the last snapshot, if there are any"
    return Finding(
        "persistence",
        Level.UNSAFE,
        f"the append-only file is off: a crash of the server loses {lost}; set appendonly to yes",
    )


def _writes(info: Info) -> Iterator[Finding]:
    for name, what in (("aof_last_write_status", "append-only file"), ("rdb_last_bgsave_status", "snapshot")):
        if info.get(name, "ok") != "ok":
            yield Finding(
                "disk", Level.WARNING, f"the last write of the {what} failed; look at the server's disk"
            )


async def _neighbours(ask: Ask, info: Info, address: Address, prefix: bytes) -> Finding:
    """No key of ours ever expires: those that do are somebody else's."""
    space = info.get(f"db{address.database}", "")
    expires = int(dict(part.split("=") for part in space.split(",") if part).get("expires", 0))
    strangers = await _strangers(ask, prefix)
    if expires:
        named = f", such as {', '.join(strangers)}" if strangers else ""
        return Finding(
            "neighbours",
            Level.WARNING,
            f"{expires:,} keys in this database expire, as those of a cache do{named}; give the cache a "
            "server of its own: memory it fills is memory that jobs lack",
        )
    if strangers:
        return Finding("neighbours", Level.OK, f"other keys live here too, such as {', '.join(strangers)}")
    return Finding("neighbours", Level.OK, "nobody else was seen in this database")


async def _strangers(ask: Ask, prefix: bytes) -> list[str]:
    """The first words of a few keys that are not ours; only those, for a whole key may be a secret."""
    try:
        _, keys = await ask("SCAN", 0, "COUNT", _SAMPLE)
    except ServerError:
        return []
    words = {key.partition(b":")[0] for key in keys if not key.startswith(prefix)}
    return [f"{word.decode(errors='replace')[:20]}…" for word in sorted(words)[:3]]


async def _clock(ask: Ask) -> Finding:
    before = time.time()
    seconds, micros = await ask("TIME")
    middle = (before + time.time()) / 2
    skew = int(seconds) + int(micros) / 1e6 - middle
    if abs(skew) > SKEW_SECONDS:
        return Finding(
            "clock",
            Level.WARNING,
            f"the server's clock is {skew:+.1f} s from this machine's, and jobs go by it; let both use NTP",
        )
    return Finding("clock", Level.OK, f"the server's clock is {skew:+.3f} s from this machine's")


def _way_in(address: Address) -> Iterator[Finding]:
    away = [host for host, _ in address.hosts if host not in _HERE]
    if away and not address.tls:
        yield Finding("tls", Level.WARNING, "the connection leaves this machine unencrypted; use rediss://")
    if away and not address.password:
        yield Finding("password", Level.WARNING, "the server lets anybody in who reaches it; set a password")
