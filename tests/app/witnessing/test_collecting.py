"""Asking witnesses: real ones, and ones that are down, slow, lying, confused, ahead or forked."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.witnessing.addresses import require_reachable, submission_address
from app.witnessing.collecting import Collected, collect
from core.log.note import SigningKey
from core.log.policy import InvalidPolicy, Policy, Witness
from tests.support.documents import pages
from tests.support.processes.demo import free_port
from tests.support.processes.witness import Handler, RunningWitness, odd_witness, policy_of, running_witness
from tests.support.signed_log import SignedLog, cosigning_key, entries

SIZE = "text/x.tlog.size"
LOG = SignedLog(entries(30))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunningWitness]]:
    """Three real witnesses of the log, each in a process of its own."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(running_witness(tmp_path_factory.mktemp("w"), LOG.key.verifier, name=f"w{number}"))
            for number in range(3)
        ]


def asked(policy: Policy, size: int, known: dict[str, int] | None = None, log: SignedLog = LOG) -> Collected:
    """One checkpoint sent to all witnesses of a policy."""
    return collect(policy, log.note(size), lambda old: log.proof(old, size), known or {})


def test_all_sign_and_a_quorum_survives_one_that_is_down(real: list[RunningWitness]) -> None:
    """Sizes that are not known are asked for; the next time one request for each is enough."""
    names = {f"w{number}": (witness.key, witness.url) for number, witness in enumerate(real)}
    policy = policy_of(LOG.key.verifier, names | {"down": (cosigning_key("down").verifier, dead())}, least="3")
    first = asked(policy, 10)
    assert set(first.signatures) == {"w0", "w1", "w2"}
    assert first.silent.keys() == {"down"}
    assert "not reached" in first.silent["down"]
    assert (first.refusals, first.ahead, first.forked) == ({}, {}, {})
    second = asked(policy, 20, dict(first.sizes))
    assert second.sizes == {"w0": 20, "w1": 20, "w2": 20, "down": 0}
    for name, signature in second.signatures.items():
        assert signature.is_valid(policy.witnesses[name].key, LOG.note(20).text)
    assert policy.is_met(second.signatures)
    again = asked(policy, 20)  # nothing is known: the sizes come from the witnesses
    assert again.signatures.keys() == second.signatures.keys()
    assert asked(policy, 21, {"w0": 3, "w1": 99, "w2": 21}).signatures.keys() == second.signatures.keys()


def dead() -> str:
    """An address that nobody listens on."""
    return f"http://127.0.0.1:{free_port()}"


def test_a_witness_that_is_ahead_shows_that_the_database_lost_commits(tmp_path: Path) -> None:
    """It is named, with its size; so is one that signed another tree of this size, or of a smaller one."""
    with running_witness(tmp_path, LOG.key.verifier) as witness:
        policy = policy_of(LOG.key.verifier, {"w": (witness.key, witness.url)})
        assert asked(policy, 25).signatures.keys() == {"w"}
        behind = asked(policy, 24, {"w": 25})
        assert (behind.ahead, behind.signatures, behind.sizes) == ({"w": 25}, {}, {"w": 25})
        said = "The witness w signed 25 entries of this log, and the database has 24: it lost commits."
        assert behind.refusals == {"w": said}
        fork = LOG.forked(10, 30)
        same, larger = asked(policy, 25, log=fork), asked(policy, 30, log=fork)
        assert same.forked == larger.forked == {"w": 25}
        assert "entries were changed" in larger.refusals["w"]
        assert asked(policy, 25).signatures.keys() == {"w"}


def slow(handler: Handler, _body: bytes) -> None:
    """One byte of a head every tenth of a second: each read is quick, and there is no end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.1)


def endless(handler: Handler, _body: bytes) -> None:
    """A reply without an end."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(bytes(2**16))


def confused(handler: Handler, body: bytes) -> None:
    """Another size each time."""
    old = int(body.split()[1])
    handler.reply(409, b"%d\n" % (old + 1), SIZE)


LIAR, OTHER = cosigning_key("liar"), cosigning_key("other")


def sign(key: SigningKey, text: str) -> bytes:
    """A reply with one signature."""
    return f"{key.sign(text, time=1)}\n".encode()


def test_what_a_slow_witness_sends_does_not_hold_the_others() -> None:
    """A head that drips in is given up after two seconds; the other's signature is there."""

    def honest(handler: Handler, _body: bytes) -> None:
        handler.reply(200, sign(LIAR, LOG.note(30).text))

    with odd_witness(slow) as url, odd_witness(honest) as other:
        policy = policy_of(LOG.key.verifier, {"slow": (OTHER.verifier, url), "quick": (LIAR.verifier, other)})
        began = time.monotonic()
        collected = asked(policy, 30)
    assert time.monotonic() - began < 10  # 2 s; the rest is for a busy machine
    assert collected.signatures.keys() == {"quick"}
    assert collected.silent == {"slow": "The witness slow did not answer: nothing came within 2 s."}


REPLIES = {
    "another text": (200, sign(LIAR, "another text\n"), "text/plain", "refused"),
    "another key": (200, sign(OTHER, LOG.note(30).text), "text/plain", "refused"),
    "no signature": (200, b"hello\n\xff\n", "text/plain", "refused"),
    "nothing": (200, b"", "text/plain", "refused"),
    "a good one among others": (
        200,
        sign(OTHER, LOG.note(30).text) + b"nonsense\n" + sign(LIAR, LOG.note(30).text),
        "text/plain",
        "signed",
    ),
    "409 of another type": (409, b"5\n", "text/plain", "refused"),
    "409 without a size": (409, b"-5\n", SIZE, "refused"),
    "403": (403, b"\x1b[31mno\n", "text/plain", "refused"),
    "404": (404, b"", "text/plain", "refused"),
    "429": (429, b"", "text/plain", "refused"),
    "503": (503, b"later", "text/plain", "silent"),
    "a redirect": (307, b"", "text/plain", "refused"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_only_a_signature_of_the_policys_key_on_this_text_counts(name: str) -> None:
    """A 409 makes us ask again only if it has a size; words of a witness reach a message without control characters."""
    status, body, content_type, outcome = REPLIES[name]
    requests: list[bytes] = []

    def behave(handler: Handler, sent: bytes) -> None:
        requests.append(sent)
        handler.reply(status, body, content_type, **({"Location": "/elsewhere"} if status == 307 else {}))

    with odd_witness(behave) as url:
        collected = asked(policy_of(LOG.key.verifier, {"liar": (LIAR.verifier, url)}), 30)
    groups = {"signed": collected.signatures, "refused": collected.refusals, "silent": collected.silent}
    assert [group for group, members in groups.items() if members] == [outcome]
    assert len(requests) == 1
    assert all(sentence.isprintable() for sentence in [*collected.refusals.values(), *collected.silent.values()])
    assert (collected.ahead, collected.forked) == ({}, {})


def test_a_redirect_that_nobody_can_read_loses_no_other_reply() -> None:
    """httpx reads the address of a redirect even where it does not follow it, and fails with an error of a library."""

    def elsewhere(handler: Handler, _body: bytes) -> None:
        handler.reply(302, b"", Location="https://xn--a/")

    def honest(handler: Handler, _body: bytes) -> None:
        handler.reply(200, sign(LIAR, LOG.note(30).text))

    with odd_witness(elsewhere) as url, odd_witness(honest) as other:
        policy = policy_of(LOG.key.verifier, {"odd": (OTHER.verifier, url), "good": (LIAR.verifier, other)})
        collected = asked(policy, 30)
    assert collected.signatures.keys() == {"good"}
    assert collected.silent.keys() == {"odd"}
    assert "the request failed (InvalidCodepoint)" in collected.silent["odd"]


@pytest.mark.parametrize(("behaviour", "words"), [(endless, "too long"), (confused, "another size each time")])
def test_a_reply_without_an_end_is_given_up(behaviour: object, words: str) -> None:
    """Whether it is one reply, or one after another."""
    with odd_witness(behaviour) as url:  # type: ignore[arg-type]
        collected = asked(policy_of(LOG.key.verifier, {"liar": (LIAR.verifier, url)}), 30)
    assert words in collected.silent["liar"]


def test_it_works_where_an_event_loop_runs_already() -> None:
    """In a thread that has one of its own, and with no witness at all."""

    async def inside() -> Collected:
        return asked(policy_of(LOG.key.verifier, {"down": (LIAR.verifier, dead())}), 30)

    with ThreadPoolExecutor(1) as pool:  # in this thread, another test may have left a loop
        assert pool.submit(asyncio.run, inside()).result().silent.keys() == {"down"}
    assert asked(Policy.parse("quorum none\n"), 30).sizes == {}


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://witness.example/a/", "https://witness.example/a/add-checkpoint"),
        ("http://localhost:81", "http://localhost:81/add-checkpoint"),
        ("http://127.0.0.9", "http://127.0.0.9/add-checkpoint"),
        ("http://[::1]:5/", "http://[::1]:5/add-checkpoint"),
        (None, None),
        ("http://witness.example", InvalidPolicy),
        ("http://127.0.0.1.example", InvalidPolicy),
        ("http://10.0.0.1", InvalidPolicy),
        ("ftp://localhost", InvalidPolicy),
        ("https://me:secret@witness.example", InvalidPolicy),
        ("https://witness.example/?a=b", InvalidPolicy),
        ("https://witness.example/#a", InvalidPolicy),
        ("https://", InvalidPolicy),
        ("witness.example", InvalidPolicy),
        ("https://[", InvalidPolicy),
    ],
)
def test_checkpoints_go_over_https_or_to_this_machine(url: str | None, address: str | type[Exception] | None) -> None:
    """And an address holds no password, no question and no fragment."""
    witness = Witness("w", LIAR.verifier, url)
    if isinstance(address, type):
        with pytest.raises(address, match="the witness w"):
            submission_address(witness)
    else:
        assert submission_address(witness) == address


def test_a_quorum_must_be_reachable() -> None:
    """Witnesses without an address are fine for those who verify, and no use to a log."""
    keys = {"a": (LIAR.verifier, "https://a.example"), "b": (OTHER.verifier, None)}
    require_reachable(policy_of(LOG.key.verifier, {"a": keys["a"]}))
    with pytest.raises(InvalidPolicy, match="quorum"):
        require_reachable(policy_of(LOG.key.verifier, keys))


def test_the_page_says_what_a_quorum_survives() -> None:
    """Each row of the table in docs/witnesses.md is what a policy of that kind computes."""
    rows = re.findall(r"^\| (\d) of (\d) \| (\d) \| (\d) \|$", pages()["docs/witnesses.md"], re.MULTILINE)
    assert len(rows) == 7
    for least, count, corrupt, silent in rows:
        keys = {f"w{number}": (cosigning_key("w").verifier, None) for number in range(int(count))}
        policy = policy_of(LOG.key.verifier, keys, least=least)
        assert policy.tolerated == int(corrupt)
        assert policy.is_met(list(keys)[int(silent) :])
        assert not policy.is_met(list(keys)[int(silent) + 1 :])
