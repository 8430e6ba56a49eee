"""Check the broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis.exceptions import RedisError, ResponseError

from orchestrator.celery_executor import open_broker
from orchestrator.diagnosis.result import CheckResult, fix_for
from orchestrator.errors import BrokerError
from workers.addresses import masked
from workers.celery.app import QUEUE, make_app

_MIN_REDIS = (6, 2)
_FULL = 0.9

_WRONG_PASSWORD = "fix the password in WM_BROKER_URL, or in the file that WM_BROKER_PASSWORD_FILE names"  # noqa: S105 - none is
_WRONG_URL = "fix WM_BROKER_URL: redis://:PASSWORD@HOST:PORT/0"
_FIXES = (
    ("authentication required", _WRONG_PASSWORD),
    ("NOAUTH", _WRONG_PASSWORD),
    ("WRONGPASS", _WRONG_PASSWORD),
    ("invalid username-password", _WRONG_PASSWORD),
    ("invalid password", _WRONG_PASSWORD),
    ("no password is set", _WRONG_PASSWORD),
    ("without any password configured", _WRONG_PASSWORD),
    ("its URL cannot be read", _WRONG_URL),
    ("name or service not known", "fix the host in WM_BROKER_URL"),
    ("no address associated", "fix the host in WM_BROKER_URL"),
    ("loading the dataset", "wait until the broker has read its data"),
)


def diagnose_broker(url: str, *, is_named: bool) -> list[CheckResult]:
    """Check whether the broker answers, its version and memory, and whether it may drop messages."""
    try:
        connection = open_broker(make_app(url))
    except BrokerError as reason:
        found = str(reason).removeprefix("broker ").removesuffix("; give --broker or WM_BROKER_URL")
        if not is_named:
            fix = "one machine needs none; for many start one and set WM_BROKER_URL"
            return [CheckResult("broker", found, fix)]
        fix = fix_for(found, _FIXES, "start the broker, or fix WM_BROKER_URL")
        if not url.startswith(("redis://", "rediss://")):
            fix = _WRONG_URL
        return [CheckResult("broker", found, fix, is_fault=True)]
    try:
        return check_server(masked(url), connection.default_channel.client)
    except RedisError as reason:
        found = f"{masked(url)}: {' '.join(str(reason).split())}"
        return [CheckResult("broker", found, "read the broker's log", is_fault=True)]
    finally:
        connection.release()


def check_server(name: str, client: Any) -> list[CheckResult]:
    """Check a broker that answers: its version, and its settings; `client` is that of the Redis library."""
    server = _asked(lambda: client.info("server"))
    what = "Valkey" if "valkey_version" in server else "Redis"
    version = str(server.get("valkey_version") or server.get("redis_version") or "of unknown version")
    waiting = client.llen(QUEUE)
    answers = CheckResult("broker", f"{name}: {what} {version} answers, {waiting} messages wait")
    if what == "Redis" and _numbers(version) < _MIN_REDIS:
        fix = "use Redis 6.2 or later, or Valkey"
        answers = CheckResult("broker", f"{name}: Redis {version} is too old", fix, is_fault=True)
    # A managed broker may refuse this command.
    policy = _asked(lambda: client.config_get("maxmemory-policy")).get("maxmemory-policy", "unknown")
    eviction = CheckResult("eviction", f"maxmemory-policy {policy}")
    if policy not in ("noeviction", "unknown"):
        found = f"maxmemory-policy {policy} may drop messages, which costs time"
        eviction = CheckResult("eviction", found, "set maxmemory-policy noeviction")
    memory = _asked(lambda: client.info("memory"))
    used, limit = memory.get("used_memory", 0), memory.get("maxmemory", 0)
    if not limit or used <= _FULL * limit:
        return [answers, eviction]
    found = f"{used / 2**20:.0f} of {limit / 2**20:.0f} MB are used"
    fix = "raise maxmemory, or use the broker for treeproof only"
    return [answers, eviction, CheckResult("broker memory", found, fix)]


def _asked(ask: Callable[[], Any]) -> dict[str, Any]:
    """Return a server's answer; nothing if this user may not ask."""
    try:
        return dict(ask())
    except ResponseError:
        return {}


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; very large ones if it cannot be read."""
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else (10**9,)
