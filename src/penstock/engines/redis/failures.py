"""What an error of the server means: did anything happen, and is it worth another try?"""

from __future__ import annotations

from penstock.engines.redis.wire import ServerError
from penstock.model.errors import EngineError, EngineFull, EngineUnavailable

# The server did nothing, and may do it in a moment. Those that name another server are told elsewhere.
PASSING = frozenset(
    {
        "LOADING",
        "BUSY",
        "TRYAGAIN",
        "CLUSTERDOWN",
        "MASTERDOWN",
        "READONLY",
        "MOVED",
        "ASK",
        "NOREPLICAS",
        "MISCONF",
    }
)
ELSEWHERE = frozenset(
    {"MOVED", "ASK", "READONLY", "CLUSTERDOWN", "MASTERDOWN"}
)  # this is not the server for us
NO_SCRIPT = "NOSCRIPT"
NO_PERMISSION = "NOPERM"


def translate(error: ServerError) -> EngineError:
    """The error a caller sees."""
    what = str(error).partition("\n")[0]
    if error.code == "OOM":
        return EngineFull(
            "the Redis server has reached its maxmemory; nothing was changed. Raise maxmemory, or let jobs "
            "end and be pruned, then try again"
        )
    if error.code in PASSING:
        return EngineUnavailable(f"the server cannot do it now, nothing happened: {what}")
    return EngineError(f"the server refused the script: {what}")
