"""The bundle of a release: its synopsis, receipt, card, catalogue entry, terms and a suggested policy in one file."""

from __future__ import annotations

from app.access.principal import Principal
from app.bundles.bundle import Bundle
from app.cards.card import Card
from app.cards.croissant import croissant
from app.cards.files import synopsis_file
from app.log.checkpoints import policy_text
from app.log.receipts import receipt
from app.releases.cards import get_card
from app.service import Service
from core.log.note import Note, VerifierKey

_NO_TERMS = "No terms of use were stated when the dataset was registered.\n"


def bundle(service: Service, caller: Principal, release_id: str) -> Bundle:
    """Everything that a reader needs once the service is gone. ReceiptPending until a checkpoint holds the release."""
    receipted = receipt(service, caller, release_id)
    card = get_card(service, caller, release_id)
    return Bundle(
        synopsis=receipted.synopsis.to_bytes(),
        receipt=str(receipted.receipt).encode(),
        card=card.body,
        croissant=croissant(card, (synopsis_file(card),)),
        terms=_terms(card),
        policy=_policy(service, receipted.receipt.checkpoint),
    )


def _policy(service: Service, note: Note) -> str:
    """The suggested policy for this checkpoint: with those keys on record that signed it, not with newer ones."""
    recorded = [service.log.first, *map(VerifierKey.parse, service.replay.books.log_keys)]
    signers = [f"log {key}\n" for key in note.signed_by(recorded)]
    suggested = policy_text(service)
    others = [line for line in suggested.splitlines(keepends=True) if not line.startswith("log ")]
    return "".join([*signers, *others]) if signers else suggested


def _terms(card: Card) -> str:
    """What the registration says of use and licence."""
    stated = card.predicate["about"]
    lines = [f"{name}: {stated[name]}" for name in ("licence", "intended_use", "contact") if stated.get(name)]
    return "".join(f"{line}\n" for line in lines) or _NO_TERMS
