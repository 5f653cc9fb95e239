"""`rugnik verify`: is this file the release that epsilon was charged for? Checked offline, without key or service."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from app.cli.exits import Code, fail
from app.cli.options import AsJson, read_log_key
from app.cli.output import note, progress_bar, show_fields, show_json

if TYPE_CHECKING:
    from app.receipts.verifying import Verified
    from core.log.policy import Policy

_SLOW_BYTES = 2**24  # of a file: from here on a progress bar is worth its line
_NO_KEY = (
    "Whom do you trust? A receipt does not carry the key of its log: whoever made it up could have put in a key, too. "
    "Give --policy FILE, or --log-key VKEY with the verifier key that the operator publishes; the first line of the "
    "service's /log/checkpoint is the name that it begins with."
)
_NOT_THE_BUDGET = (
    "This shows the charge and the file. It does not show that the dataset's budget was kept: only a walk over the "
    "whole ledger does (rugnik ledger verify)."
)
_NO_WITNESS = (
    "No witness had to sign: the operator alone vouches for the log, and could show another one to somebody else."
)


def verify(
    file: Annotated[
        Path,
        typer.Argument(help="A download of a release: bundle, synopsis.bin, JSON, CSV, Parquet or Arrow."),
    ],
    receipt: Annotated[
        Path | None,
        typer.Option(help="The receipt; by default the bundle's own, or FILE.tlog-proof.", show_default=False),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            envvar="RUGNIK_POLICY",
            help="The logs and witnesses that you trust: a tlog-policy file.",
            show_default=False,
        ),
    ] = None,
    log_key: Annotated[
        str | None,
        typer.Option(help="In place of a policy: the log's verifier key, NAME+ID+BASE64.", show_default=False),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(help="The release card, to be checked too; by default the bundle's.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the canonical bytes, synopsis.bin, to this file as well.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify that a file is the release that epsilon was charged for. The exit code is 5 if it is not.

    Nothing is sent, and no key is needed. The receipt is signed by the log and
    its witnesses; the file is compared with it number by number. It shows the
    charge, not the budget: for that, verify the whole ledger.

    \b
    Example:
      rugnik verify bike-trips.rugnik --policy city.policy
      rugnik verify bike-trips.csv --receipt bike-trips.tlog-proof --policy city.policy
    """
    from app.receipts.downloads import Form, UnfitFile, unbundled
    from app.receipts.verifying import verify as verified_by
    from core.log.note import InvalidNote
    from core.log.receipt import Receipt

    trusted, data = _policy(policy, log_key), file.read_bytes()
    checked_card = None if card is None else card.read_bytes()
    written, bundle = None if receipt is None else receipt.read_bytes(), None
    try:
        if Form.of(data) is Form.BUNDLE:
            bundle = unbundled(data)
            data, written = bundle.synopsis, bundle.receipt if written is None else written
        shown = Receipt.parse((_beside(file) if written is None else written).decode())
        if checked_card is None and bundle is not None and "card" in shown.publish.detail:
            checked_card = bundle.card
        with _progress(data) as progress:
            verified = verified_by(data, shown, trusted, card=checked_card, progress=progress)
    except (InvalidNote, UnfitFile) as error:
        _fail(str(error), as_json=as_json)
    except UnicodeDecodeError:
        _fail("The receipt is no text.", as_json=as_json)
    _show(file, verified, trusted, as_json=as_json)
    if output is not None:
        output.write_bytes(verified.canonical)
        note(f"Written to {output}.")


def _policy(path: Path | None, log_key: str | None) -> Policy:
    """The policy of whoever asks; ends the command where there is none, or where it cannot be read."""
    from core.log.note import InvalidNote
    from core.log.policy import InvalidPolicy, Policy

    if log_key is not None:
        return Policy((read_log_key(log_key),), {}, {}, None)
    if path is None:
        fail(_NO_KEY, Code.USAGE)
    try:
        return Policy.parse(path.read_text(encoding="utf-8"))
    except (InvalidPolicy, InvalidNote) as error:
        fail(f"{path}: {error}", Code.USAGE)
    except UnicodeDecodeError:
        fail(f"{path}: A policy is a text.", Code.USAGE)


def _beside(file: Path) -> bytes:
    from core.log.proof import SUFFIX

    path = file.with_name(file.name + SUFFIX)
    if not path.exists():
        fail(f"There is no receipt: give --receipt, or put it beside the file as {path.name}.", Code.USAGE)
    return path.read_bytes()


def _progress(data: bytes) -> AbstractContextManager[Any]:
    return progress_bar("Comparing", counted="cells") if len(data) > _SLOW_BYTES else nullcontext()


def _fail(sentence: str, *, as_json: bool) -> NoReturn:
    if as_json:
        show_json({"valid": False, "reason": sentence})
    fail(sentence, Code.LEDGER_BROKEN)


def _show(file: Path, verified: Verified, policy: Policy, *, as_json: bool) -> None:
    facts = verified.facts
    signed = {name: datetime.fromtimestamp(time, UTC) for name, time in facts.witnesses.items()}
    if as_json:
        show_json(
            {
                "valid": True,
                "reason": None,
                "form": verified.form.value,
                "dataset": facts.dataset,
                "release": facts.release,
                "epsilon": str(facts.epsilon),
                "digest": facts.digest,
                "card": facts.card,
                "card_checked": verified.card_checked,
                "charge": {"seq": facts.charge_seq, "at": facts.charged_on},
                "publish": {"seq": facts.publish_seq, "at": facts.published_on},
                "log": {"origin": facts.origin, "size": facts.size},
                "witnesses": {name: time.isoformat() for name, time in signed.items()},
                "budget_checked": False,
            }
        )
        return
    card = "none" if facts.card is None else facts.card + ("" if verified.card_checked else " (no card was given)")
    show_fields(
        [
            ("dataset", facts.dataset),
            ("release", facts.release),
            ("epsilon", f"{facts.epsilon}, charged on {facts.charged_on} as entry {facts.charge_seq:,}"),
            ("published", f"on {facts.published_on} as entry {facts.publish_seq:,}"),
            ("digest", facts.digest),
            ("card", card),
            ("log", f"{facts.origin}, signed with {facts.size:,} entries"),
            ("witnesses", ", ".join(f"{name} ({time:%Y-%m-%d %H:%M} UTC)" for name, time in signed.items()) or "none"),
        ]
    )
    typer.echo(f"{file.name} is the release that epsilon {facts.epsilon} was charged for.")
    if policy.quorum is None:
        note(_NO_WITNESS)
    note(_NOT_THE_BUDGET)
