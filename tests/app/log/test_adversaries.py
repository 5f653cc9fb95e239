"""The adversary matrix of docs/log.md: what each attack on the log is detected by, and what it is not detected by.

walk      a verification of all entries and synopses in the database, with nothing to compare them with
file      the witness file beside the service
witness   outside witnesses, which are shown the log
receipt   somebody who was given a file and its receipt, and has a policy
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.errors import LedgerBroken
from app.ledger.entries import entries_until, holds
from app.ledger.replay import Replay
from app.ledger.verification import verify_all
from app.ledger.witness import Witness as WitnessFile
from app.main import create_app
from app.receipts.downloads import UnfitFile
from app.receipts.verifying import verify
from app.service import Service
from app.settings.settings import Settings
from app.storage.database import Database
from app.storage.tables import synopses
from app.witnessing.collecting import collect
from app.witnessing.witness import Witness
from core.ledger.kinds import Kind
from core.log.note import InvalidNote, Note, Signature
from core.log.policy import Policy
from core.log.receipt import Receipt, header_of
from core.log.witnessing import Submission
from tests.support.databases.books import rewrite_from, without_triggers
from tests.support.service.api import Api
from tests.support.service.cosigned import Clock, Cosigned, with_witnesses

PAGE = Path(__file__).parents[3] / "docs" / "log.md"
DETECTORS = ("walk", "file", "witness", "receipt")
CORRUPT = 1  # of four witnesses, three of which have to sign: 2 * 3 - 4 - 1


@dataclass(frozen=True)
class Given:
    """What an analyst was given: a file, its receipt, and its card."""

    data: bytes
    receipt: str
    card: bytes


@dataclass
class Honest:
    """A log with two releases that nobody has meddled with, an older copy of it, and what analysts were given."""

    cosigned: Cosigned
    service: Service
    folder: Path
    backup: Path
    releases: list[str]
    given: list[Given]
    csv: bytes


@dataclass
class Scene:
    """A copy of the log that an adversary works on, and what the analyst gets in the end."""

    honest: Honest
    service: Service
    given: Given
    folder: Path

    @property
    def settings(self) -> Settings:
        """Of the copy."""
        return self.service.settings

    def forget_signatures(self) -> None:
        """Delete what the database knows of signatures: an intruder would."""
        with without_triggers(self.service) as connection:
            for table in ("checkpoints", "cosignatures", "periods"):
                connection.execute(text(f"DELETE FROM {table}"))
            connection.commit()

    def walked(self) -> Replay:
        """The entries as they are now, and their tree."""
        replay = Replay(self.service.database)
        replay.refresh()
        return replay

    def forged_receipt(self, *stolen: Witness) -> str:
        """A receipt of the first release from the entries as they are now, signed by the log and whoever signs."""
        replay, release = self.walked(), self.honest.releases[0]
        about = [entry for entry in entries_until(self.service, replay.head) if entry.release == release]
        charge, publish = (next(entry for entry in about if entry.kind is kind) for kind in (Kind.CHARGE, Kind.PUBLISH))
        size, tree = replay.tree.size, replay.tree
        note = self.service.log.signed(tree, size)
        policy = self.honest.cosigned.policy
        honest = collect(policy, note, lambda old: tree.consistency_proof(old, size), {}).signatures
        body = str(Submission(0, (), note)).encode()
        lines = [Signature.parse(witness.add_checkpoint(body).rstrip("\n")) for witness in stolen]
        proofs = (tree.inclusion_proof(entry.seq - 1, size) for entry in (publish, charge))
        signed = Note(note.text, (*note.signatures, *honest.values(), *lines))
        return str(Receipt.of(publish, charge, *proofs, header_of(self.given.data), signed))

    def stolen(self, number: int) -> Witness:
        """A witness whose key the adversary has, and which has seen nothing yet."""
        key = self.honest.cosigned.witnesses[number].key
        return Witness(key, [self.honest.cosigned.log_key.verifier], self.folder / f"stolen{number}")


def reopened(service: Service, folder: Path) -> Service:
    """A service on a copy, which was not asked whether it may start."""
    settings = service.settings.model_copy(update={"data_dir": folder / "data"})
    database = Database(settings.url)
    witness = WitnessFile(settings.witness_path)
    return replace(service, settings=settings, database=database, replay=Replay(database), witness=witness)


def copied(folder: Path, target: Path) -> None:
    """The data folder, and the files beside it."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("w[0-9]", "policy"))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Honest]:
    """Made once: four witnesses, three of which have to sign."""
    folder = tmp_path_factory.mktemp("honest")
    settings = Settings(data_dir=folder / "data")
    with (
        with_witnesses(settings, folder, count=4, least=3, checkpoint_seconds=0) as cosigned,
        Api(create_app(cosigned.settings, Clock())) as api,
    ):
        api.register()
        releases, given = [], []
        backup = folder.with_name(folder.name + "-backup")
        for number in range(2):
            release = api.published()
            api.service.cosigner.sign_newest(api.service)
            receipt = api.analyst("GET", f"/v1/releases/{release}/receipt")
            assert receipt.status_code == 200, receipt.text
            with api.service.database.read_only() as tx:
                body = tx.execute(select(synopses.c.body).where(synopses.c.release == release)).scalar_one()
            card = api.analyst("GET", f"/v1/releases/{release}/card").content
            given.append(Given(zlib.decompress(body), receipt.text, card))
            releases.append(release)
            if number == 0:
                copied(folder, backup)
        api.order()
        api.service.cosigner.sign_newest(api.service)
        csv = api.analyst("GET", f"/v1/releases/{releases[0]}/synopsis?format=csv").content
        thread = api.service.cosigner._thread
        if thread is not None:
            thread.join()
        yield Honest(cosigned, api.service, folder, backup, releases, given, csv)


# --- attacks


def nothing(_scene: Scene) -> None:
    """No attack: no detector may cry out."""


def entry_edited(scene: Scene) -> None:
    with without_triggers(scene.service) as connection:
        connection.execute(text("UPDATE ledger SET epsilon_nano = 2 * epsilon_nano WHERE kind = 'grant'"))
        connection.commit()


def chain_rewritten(scene: Scene) -> None:
    rewrite_from(scene.service, 2, actor="somebody else")
    scene.forget_signatures()
    scene.given = replace(scene.given, receipt=scene.forged_receipt())


def chain_and_file_rewritten(scene: Scene) -> None:
    chain_rewritten(scene)
    replay = scene.walked()
    scene.service.witness.path.write_text(str(scene.service.log.signed(replay.tree, replay.tree.size)))


def tail_cut(scene: Scene) -> None:
    with without_triggers(scene.service) as connection:
        connection.execute(text("DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)"))
        connection.commit()
    scene.forget_signatures()


def old_backup(scene: Scene) -> None:
    shutil.rmtree(scene.settings.data_dir)
    shutil.copytree(scene.honest.backup / "data", scene.settings.data_dir)


def old_backup_with_file(scene: Scene) -> None:
    old_backup(scene)
    name = scene.settings.witness_path.name
    shutil.copy(scene.honest.backup / name, scene.settings.witness_path)


def key_stolen(scene: Scene) -> None:
    chain_and_file_rewritten(scene)


def key_and_witnesses_stolen(scene: Scene) -> None:
    chain_and_file_rewritten(scene)
    scene.given = replace(scene.given, receipt=scene.forged_receipt(scene.stolen(0)))


def key_and_more_witnesses_stolen(scene: Scene) -> None:
    """Two are corrupt, and a third one was kept from seeing the log."""
    chain_and_file_rewritten(scene)
    thieves = [scene.stolen(number) for number in range(CORRUPT + 2)]
    scene.given = replace(scene.given, receipt=scene.forged_receipt(*thieves))


def synopsis_swapped(scene: Scene) -> None:
    other = scene.honest.given[1].data
    with without_triggers(scene.service) as connection:
        row = {"body": zlib.compress(other), "release": scene.honest.releases[0]}
        connection.execute(text("UPDATE synopses SET body = :body WHERE release = :release"), row)
        connection.commit()
    scene.given = replace(scene.given, data=other)


def header_swapped(scene: Scene) -> None:
    receipt, other = Receipt.parse(scene.given.receipt), header_of(scene.honest.given[1].data)
    scene.given = replace(scene.given, receipt=str(replace(receipt, header=other)))


def card_swapped(scene: Scene) -> None:
    scene.given = replace(scene.given, card=scene.honest.given[1].card)


def row_swapped(scene: Scene) -> None:
    scene.given = replace(scene.given, data=scene.honest.csv)
    assert not receipt(scene), "the file as it was given out is good"
    header, first, second, *rows = scene.honest.csv.splitlines(keepends=True)
    scene.given = replace(scene.given, data=b"".join([header, second, first, *rows]))


def other_receipt(scene: Scene) -> None:
    scene.given = replace(scene.given, receipt=scene.honest.given[1].receipt)


Attack = Callable[[Scene], None]
MATRIX: dict[str, tuple[Attack, set[str]]] = {
    "nothing": (nothing, set()),
    "an entry edited": (entry_edited, {"walk"}),
    "the whole chain rewritten": (chain_rewritten, {"file", "witness", "receipt"}),
    "the whole chain and the witness file rewritten": (chain_and_file_rewritten, {"witness", "receipt"}),
    "the tail cut": (tail_cut, {"file", "witness"}),
    "an old backup": (old_backup, {"file", "witness"}),
    "an old backup with its witness file": (old_backup_with_file, {"witness"}),
    "a fork shown to another analyst": (chain_and_file_rewritten, {"witness", "receipt"}),
    "the log's key stolen": (key_stolen, {"witness", "receipt"}),
    "the log's key and f witnesses stolen": (key_and_witnesses_stolen, {"witness", "receipt"}),
    "the log's key and more than f witnesses stolen": (key_and_more_witnesses_stolen, {"witness"}),
    "a synopsis swapped": (synopsis_swapped, {"walk", "receipt"}),
    "a header swapped": (header_swapped, {"receipt"}),
    "a card swapped": (card_swapped, {"receipt"}),
    "a row of a CSV file swapped": (row_swapped, {"receipt"}),
    "the receipt of another release": (other_receipt, {"receipt"}),
}


# --- detectors


def walk(scene: Scene) -> bool:
    alone = replace(
        scene.service, replay=Replay(scene.service.database), witness=WitnessFile(scene.folder / "no such file")
    )
    return not verify_all(alone).valid


def file(scene: Scene) -> bool:
    with scene.service.database.read_only() as tx:
        return not holds(tx, Replay(scene.service.database), scene.service.witness.seen())


def witness(scene: Scene) -> bool:
    tree = scene.walked().tree
    note = scene.service.log.signed(tree, tree.size)
    policy = scene.honest.cosigned.policy
    collected = collect(policy, note, lambda old: tree.consistency_proof(old, tree.size), {})
    return bool(collected.ahead or collected.forked)


def receipt(scene: Scene) -> bool:
    given = scene.given
    try:
        verify(given.data, Receipt.parse(given.receipt), scene.honest.cosigned.policy, card=given.card)
    except (InvalidNote, UnfitFile):
        return True
    return False


def detected(scene: Scene) -> set[str]:
    """Which detectors cry out. A chain that does not verify has no tree to compare: that is the walk's find."""
    found = set()
    for name, detector in zip(DETECTORS, (walk, file, witness, receipt), strict=True):
        try:
            if detector(scene):
                found.add(name)
        except LedgerBroken:
            assert "walk" in found
    return found


@pytest.mark.parametrize("attack", MATRIX)
def test_an_attack_is_detected_by_those_whom_the_page_names(honest: Honest, tmp_path: Path, attack: str) -> None:
    """By all of them, and by nobody else."""
    copied(honest.folder, tmp_path / "copy")
    service = reopened(honest.service, tmp_path / "copy")
    scene = Scene(honest, service, honest.given[0], tmp_path)
    run, detectors = MATRIX[attack]
    try:
        run(scene)
        service.database.dispose()
        assert detected(scene) == detectors
    finally:
        service.database.dispose()


def test_without_witnesses_the_witness_file_is_all_there_is(honest: Honest, tmp_path: Path) -> None:
    """A receipt of a rewritten chain fulfils a policy that asks for no witness: the page says so."""
    copied(honest.folder, tmp_path / "copy")
    service = reopened(honest.service, tmp_path / "copy")
    scene = Scene(honest, service, honest.given[0], tmp_path)
    alone = Policy.parse(f"log {honest.cosigned.log_key.verifier}\nquorum none\n")
    try:
        chain_rewritten(scene)
        verify(scene.given.data, Receipt.parse(scene.given.receipt), alone, card=scene.given.card)
        assert (walk(scene), file(scene)) == (False, True)
    finally:
        service.database.dispose()


def test_the_page_has_the_same_matrix() -> None:
    """docs/log.md names each attack, and a yes for each detector."""
    lines = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.count("|") == 6]
    table = [[cell.strip().lower() for cell in line] for line in lines]
    rows = [row for row in table[2:] if set(row[1:]) <= {"yes", ""}]
    written = {row[0]: {one for one, cell in zip(DETECTORS, row[1:], strict=True) if cell} for row in rows}
    assert written == {name.lower(): detectors for name, (_, detectors) in MATRIX.items() if name != "nothing"}
