"""A witness (C2SP tlog-witness): signs the checkpoints of the logs it knows, each log's only as long as it grows.

For each log, one file in the state folder has the newest checkpoint that was signed, with both signatures. Decision and
file are under one lock, and the file is on the disk before a signature leaves. So two forks are never both signed, and
nothing is signed that is smaller than what was signed before: not by threads, not by processes, not after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from app.errors import CannotStart
from app.witnessing.durable_file import locked, replace_file
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, SigningKey, VerifierKey
from core.log.witnessing import Refused, Submission, require_acceptable, unseen


class DamagedState(CannotStart):
    """A state file that this witness did not write. What it signed before is not known, so it signs nothing."""


class Witness:
    """The witness with this key, for the logs with these keys. CannotStart where its state cannot be trusted."""

    def __init__(
        self, key: SigningKey, logs: Iterable[VerifierKey], folder: Path, clock: Callable[[], float] = time.time
    ) -> None:
        self.key = key
        self._logs: dict[str, list[VerifierKey]] = {}
        for log in logs:
            self._logs.setdefault(log.name, []).append(log)
        self._folder = folder
        self._clock = clock
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.sizes()
        except OSError as error:
            raise CannotStart(f"The state folder {folder} cannot be used ({error.strerror}).") from None

    def sizes(self) -> dict[str, int]:
        """For each log, the size of the newest checkpoint that was signed; 0 before the first."""
        return {origin: self._latest(origin).size for origin in self._logs}

    def add_checkpoint(self, body: bytes) -> str:
        """The line with the signature on the checkpoint in a body of add-checkpoint. Refused has the reply if not."""
        try:
            sent = Submission.parse(body.decode("utf-8"))
            origin = Checkpoint.of(sent.note).origin
        except (InvalidNote, UnicodeDecodeError) as error:
            reason = str(error) if isinstance(error, InvalidNote) else "The body is not UTF-8."
            raise Refused(400, f"{reason}\n") from None
        keys = self._logs.get(origin, [])
        if not keys:
            require_acceptable(sent, unseen(origin), keys)  # the reply for a log that is not known
        path = self._path(origin)
        with locked(path):
            require_acceptable(sent, self._latest(origin), keys)
            cosignature = self.key.sign(sent.note.text, time=int(self._clock()))
            log_signatures = sent.note.signed_by(keys).values()
            replace_file(path, str(Note(sent.note.text, (*log_signatures, cosignature))).encode())
        return f"{cosignature}\n"

    def _path(self, origin: str) -> Path:
        return self._folder / f"{sha256(origin.encode()).hexdigest()[:32]}.checkpoint"

    def _latest(self, origin: str) -> Checkpoint:
        path = self._path(origin)
        try:
            note = Note.parse(path.read_bytes().decode("utf-8"))
            latest = Checkpoint.of(note)
        except FileNotFoundError:
            return unseen(origin)
        except (InvalidNote, UnicodeDecodeError):
            raise DamagedState(
                f"The state file {path} is damaged. Bring back the newest copy of it. If there is none, this witness "
                "cannot know what it signed: make a new one, with a new key."
            ) from None
        if latest.origin != origin or not note.signed_by([self.key.verifier]):
            raise DamagedState(
                f"The state file {path} was not written with the key {self.key.name}. Check --key, --name and --state. "
                "A new key is a new witness: give it a folder of its own."
            )
        return latest
