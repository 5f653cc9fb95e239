"""Services with outside witnesses: real HTTP servers in this process, which can be silenced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch

from pydantic import SecretStr

from app.settings.settings import Settings
from app.witnessing import collecting
from app.witnessing.witness import Witness
from core.log.ed25519 import SecretKey
from core.log.note import SignatureType, SigningKey
from core.log.policy import Policy
from core.log.witnessing import SIZE_TYPE, Refused
from tests.support.processes.witness import Handler, odd_witness
from tests.support.signed_log import ORIGIN, cosigning_key

_PATIENCE = 60.0  # seconds that a slow machine may take to answer, where a service has 2


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 0, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass
class LocalWitness:
    """A witness behind a real HTTP server. `is_up` says whether it signs, `lies` whether it claims far more entries."""

    key: SigningKey
    witness: Witness
    url: str = ""
    is_up: bool = True
    lies: bool = False
    asked: int = 0
    may_answer: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def answer(self, handler: Handler, body: bytes) -> None:
        """Sign, refuse, or be out of order; once it may."""
        self.asked += 1
        self.may_answer.wait(timeout=_PATIENCE)
        if not self.is_up:
            handler.reply(503, b"down\n")
            return
        if self.lies:
            handler.reply(409, b"1000000\n", SIZE_TYPE)
            return
        try:
            handler.reply(200, self.witness.add_checkpoint(body).encode())
        except Refused as refused:
            handler.reply(refused.status, refused.text.encode(), refused.media_type)


@dataclass
class Cosigned:
    """Settings of a service, its witnesses, and the policy that a verifier uses."""

    settings: Settings
    log_key: SigningKey
    policy: Policy
    witnesses: list[LocalWitness] = field(default_factory=list)

    def all_up(self, *, up: bool) -> None:
        """Silence all witnesses, or let all sign."""
        for witness in self.witnesses:
            witness.is_up = up


@contextmanager
def with_witnesses(
    settings: Settings, folder: Path, *, count: int = 3, least: int = 2, **changes: Any
) -> Iterator[Cosigned]:
    """The settings with a policy of `least` of `count` witnesses, which run until the end.

    Services of this process wait for them as long as it takes: else a busy machine would make a witness silent.
    """
    log_key = SigningKey(ORIGIN, SignatureType.LOG, SecretKey.generate())
    with ExitStack() as running:
        running.enter_context(patch.object(collecting, "SECONDS", _PATIENCE))
        witnesses = []
        for number in range(count):
            key = cosigning_key(f"w{number}.example")
            one = LocalWitness(key, Witness(key, [log_key.verifier], folder / f"w{number}"))
            one.url = running.enter_context(odd_witness(one.answer))
            witnesses.append(one)
        names = [f"w{number}" for number in range(count)]
        lines = [
            f"log {log_key.verifier}",
            *(f"witness {name} {one.key.verifier} {one.url}" for name, one in zip(names, witnesses, strict=True)),
            f"group g {least} {' '.join(names)}",
            "quorum g",
        ]
        text = "\n".join(lines) + "\n"
        (folder / "policy").write_text(text)
        secret = SecretStr(log_key.secret.to_pem().decode())
        own = {"origin": ORIGIN, "log_key": secret, "policy": folder / "policy", "log_level": "error"}
        changed = Settings(**(settings.model_dump(exclude_unset=True) | own | changes))
        yield Cosigned(changed, log_key, Policy.parse(text), witnesses)
