"""Lines that keep the record: charges, draws, voids, two persons, the witness, the signed log and its receipts."""

from __future__ import annotations

from torture.broken.mutant import Mutant, Promise

_UPLOAD = "app/releases/uploading.py"
_TRIGGERS = "migrations/versions/2026_11_16_0500_first_tables.py"
_DRAW_TESTS = ("tests/app/releases/test_draws.py",)
_LEDGER_TESTS = ("tests/app/ledger/test_ledger.py",)

PROMISES = (
    Promise(
        "A draw is on record before its first noise, and a charge pays for one.",
        (
            Mutant(
                "the draw recorded after the noise",
                _UPLOAD,
                "        recorded = record_draw(service, caller, release, None)\n        synopsis = draw_synopsis(",
                "        synopsis = draw_synopsis(",
                _DRAW_TESTS,
            ),
            Mutant(
                "a second draw for one charge",
                "app/ledger/appending.py",
                "        if record.last not in (Kind.CHARGE, Kind.STEP) or record.step != after:\n"
                "            raise ended(record)",
                "        if record.last is Kind.PUBLISH:\n            raise ended(record)",
                (*_DRAW_TESTS, "tests/app/releases/test_releases.py"),
            ),
        ),
    ),
    Promise(
        "What was drawn is spent for good.",
        (
            Mutant(
                "a void after the draw",
                "app/ledger/appending.py",
                "        if record.last is not Kind.CHARGE:\n            raise ended(record)",
                "        if record.last is Kind.PUBLISH:\n            raise ended(record)",
                ("tests/app/releases/test_draws.py",),
            ),
            Mutant(
                "a void after the draw, on record",
                "core/ledger/books.py",
                "record.last is Kind.CHARGE\n        return record if own else None",
                "record.last in (Kind.CHARGE, Kind.DRAW)\n        return record if own else None",
                ("tests/core/ledger/test_chain.py",),
            ),
        ),
    ),
    Promise(
        "No dataset spends more than it was granted, however many ask at once.",
        (
            Mutant(
                "a charge beyond the budget",
                "core/ledger/books.py",
                "    if entry.epsilon.nano > account.granted - account.spent:",
                "    if entry.epsilon.nano > account.granted - account.spent + 1:",
                ("tests/core/ledger/test_chain.py", "tests/app/releases/test_releases.py"),
            ),
            Mutant(
                "no lock on SQLite",
                "app/storage/database.py",
                'connection.exec_driver_sql("BEGIN IMMEDIATE")',
                'connection.exec_driver_sql("BEGIN")',
                ("tests/journeys/test_races.py", "tests/app/storage"),
            ),
            Mutant(
                "no lock on PostgreSQL",
                "app/ledger/appending.py",
                "tx.execute(select(ledger_lock.c.id).with_for_update()).first()",
                "tx.execute(select(ledger_lock.c.id)).first()",
                ("tests/journeys/test_races.py",),
            ),
        ),
    ),
    Promise(
        "An order that is repeated with its key is charged once.",
        (
            Mutant(
                "an order repeated with its key charged anew",
                "app/releases/ordering.py",
                "    if idempotency_key is None:",
                "    if idempotency_key is None or True:",
                ("tests/app/releases/test_releases.py",),
            ),
        ),
    ),
    Promise(
        "A closed dataset stays closed.",
        (
            Mutant(
                "an entry after the close, on record",
                "core/ledger/books.py",
                "        if account.closed and not",
                "        if account.closed and False and not",
                ("tests/core/ledger/test_chain.py",),
            ),
        ),
    ),
    Promise(
        "Above a dataset's rule it takes two keys.",
        (
            Mutant(
                "a request approved by the key that made it",
                "app/releases/deciding.py",
                "        if request.is_own(caller):\n            raise OwnRequest\n",
                "",
                ("tests/app/releases/test_two_persons.py",),
            ),
            Mutant(
                "a request approved by the key that made it, on record",
                "core/ledger/two_persons.py",
                "    if key_id_of(record.actor) == key_id_of(entry.actor):",
                "    if record.actor == entry.actor + ' ':",
                ("tests/core/ledger/test_two_persons.py",),
            ),
        ),
    ),
    Promise(
        "The ledger is not edited unnoticed.",
        (
            Mutant(
                "no trigger against changes",
                _TRIGGERS,
                'for verb in ("UPDATE", "DELETE"):',
                'for verb in ("UPDATE",):',
                _LEDGER_TESTS,
            ),
            Mutant(
                "no trigger for the order of entries",
                _TRIGGERS,
                "    NEW.seq = (SELECT coalesce(max(seq), 0) + 1 FROM ledger)\n    AND ",
                "    ",
                _LEDGER_TESTS,
            ),
            Mutant(
                "an entry whose hash is not looked at",
                "core/ledger/chain.py",
                "    if entry.hash != stored.own_hash:",
                "    if entry.hash != stored.own_hash and entry.seq == 0:",
                ("tests/core/ledger/test_chain.py", "tests/app/ledger/test_tampered.py"),
            ),
        ),
    ),
    Promise(
        "An older copy of the database resets no budget.",
        (
            Mutant(
                "an append that does not ask the witness",
                "app/ledger/appending.py",
                "        if not agrees:\n            log.error",
                "        if not agrees and False:\n            log.error",
                ("tests/app/ledger/test_witness.py",),
            ),
            Mutant(
                "a start that does not ask the witness",
                "app/ledger/witness_check.py",
                "        if not holds(tx, service.replay, seen):\n"
                "            raise LedgerRewound(\n"
                '                f"The ledger in the database is not the one',
                "        if not holds(tx, service.replay, seen) and False:\n"
                "            raise LedgerRewound(\n"
                '                f"The ledger in the database is not the one',
                ("tests/app/ledger/test_witness.py",),
            ),
        ),
    ),
    Promise(
        "No table beside the ledger decides anything.",
        (
            Mutant(
                "a stored synopsis that is not compared with the ledger",
                "app/releases/reading.py",
                "    if synopsis.digest != digest:",
                "    if synopsis.digest != digest and False:",
                ("tests/app/ledger/test_bound_to_the_chain.py",),
            ),
            Mutant(
                "a stored answer that anybody may have written",
                "app/answers/stored_answers.py",
                "    return row[0] if hmac.compare_digest(",
                "    return row[0] if True or hmac.compare_digest(",
                ("tests/app/ledger/test_bound_to_the_chain.py", "tests/app/answers/test_answers.py"),
            ),
        ),
    ),
    Promise(
        "With a quorum configured, no row is read before it has signed the charge.",
        (
            Mutant(
                "a row read before the quorum has signed its charge",
                "app/releases/uploading.py",
                "    service.cosigner.require_signed(service, release.standing.seq)\n",
                "",
                ("tests/app/log/test_quorum.py",),
            ),
        ),
    ),
    Promise(
        "A receipt shows what the signed log holds, and nothing else passes for it.",
        (
            Mutant(
                "a leaf of the tree that could pass for a node",
                "core/log/tree.py",
                'sha256(b"\\x00" + leaf)',
                "sha256(leaf)",
                ("tests/core/log/test_tree.py",),
            ),
            Mutant(
                "a receipt whose entries are in no signed tree",
                "core/log/receipt.py",
                "        self._require_included(signed)\n",
                "",
                ("tests/core/log/test_receipts.py",),
            ),
            Mutant(
                "a synopsis verified by its receipt alone",
                "app/receipts/verifying.py",
                "    if digest != facts.digest:\n"
                '        raise UnfitFile(f"{_other_digest(digest, facts)} It is another release',
                "    if digest != facts.digest and False:\n"
                '        raise UnfitFile(f"{_other_digest(digest, facts)} It is another release',
                ("tests/app/receipts",),
            ),
        ),
    ),
    Promise(
        "The log tells neither when rows came nor what the entries of other datasets say.",
        (
            Mutant(
                "entries with the second of their time",
                "app/ledger/appending.py",
                "            at=self.service.today(),",
                "            at=self.service.clock().isoformat(),",
                (*_DRAW_TESTS, "tests/app/ledger"),
            ),
            Mutant(
                "a witness file with the second of the last entry",
                "app/ledger/witness.py",
                "        os.utime(fresh, (day, day))\n",
                "",
                ("tests/app/ledger/test_witness.py",),
            ),
            Mutant(
                "witnesses asked at the moment of a draw",
                "app/ledger/appending.py",
                "    if any(entry.kind not in PRIVATE_TIMES for entry in book.appended):",
                "    if book.appended:",
                ("tests/app/log",),
            ),
            Mutant(
                "entries with the same salt",
                "app/ledger/appending.py",
                '"salt": secrets.token_hex(SALT_BYTES)',
                '"salt": "0" * 2 * SALT_BYTES',
                ("tests/app/log", "tests/app/ledger/test_ledger.py"),
            ),
        ),
    ),
)
