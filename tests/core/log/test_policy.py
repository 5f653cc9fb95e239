"""Policies: each rule of C2SP tlog-policy, and how many corrupt witnesses a quorum survives."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, SignatureType, SigningKey, VerifierKey
from core.log.policy import Group, InvalidPolicy, Policy, Witness
from tests.core.log.logs import ORIGIN, log_key, secret_key, witness_key

LOG = log_key()
WITNESSES = {f"w{seed}": witness_key(seed) for seed in range(2, 9)}
CHECKPOINT = Checkpoint(ORIGIN, 3, bytes(32))

LINES = [f"log {LOG.verifier}", *(f"witness {name} {key.verifier}" for name, key in WITNESSES.items())]


def policy(*lines: str) -> Policy:
    """A policy with the log, seven witnesses w2 to w8, and these lines."""
    return Policy.parse("\n".join([*LINES, *lines]) + "\n")


def cosigned(names: Sequence[str], log: SigningKey = LOG) -> Note:
    """The checkpoint with the signatures of the log and of these witnesses."""
    note = CHECKPOINT.signed(log)
    return replace(note, signatures=note.signatures + tuple(WITNESSES[name].sign(note.text, time=1) for name in names))


def test_the_example_of_the_specification_is_read() -> None:
    """Two levels of groups, empty lines, and no URLs: two of three, and one of three."""
    lines = [f"log {LOG.verifier}", ""]
    for seed, name in enumerate(["X1", "X2", "X3", "Y1", "Y2", "Y3"], start=2):
        lines.append(f"witness {name} {witness_key(seed).verifier}")
    lines += ["group X-witnesses 2 X1 X2 X3", "", "group Y-witnesses any Y1 Y2 Y3", ""]
    lines += ["group X-and-Y all X-witnesses Y-witnesses", "quorum X-and-Y", ""]
    read = Policy.parse("\n".join(lines))
    assert read.groups["X-and-Y"] == Group(2, ("X-witnesses", "Y-witnesses"))
    assert read.groups["X-witnesses"].least == 2
    assert read.groups["Y-witnesses"].least == 1
    for chosen, is_met in (("X1 X3 Y2", True), ("X1 X2 X3", False), ("X1 Y1 Y2 Y3", False), ("", False)):
        assert read.is_met(chosen.split()) == is_met
    assert read.tolerated == 0  # X1 X2 and X2 X3 share one witness, Y1 and Y2 none


def test_the_signature_of_a_single_witness_may_be_the_quorum() -> None:
    """Then nobody else's counts, and it must be honest."""
    read = policy("quorum w3")
    assert (read.is_met(["w3"]), read.is_met(["w2", "w4"]), read.tolerated) == (True, False, 0)


def test_quorum_none_asks_for_no_witness() -> None:
    """And survives none. A policy may consist of it alone."""
    read = Policy.parse("quorum none")
    assert (read.logs, read.witnesses, read.quorum, read.tolerated) == ((), {}, None, -1)
    assert read.is_met([])


def test_blanks_are_spaces_and_tabs_and_comments_are_lines() -> None:
    """Leading and trailing ones are allowed; the last line needs no line feed."""
    read = Policy.parse(
        f"# comment é\n \t # another\n\t\n  log\t{LOG.verifier}  \t\n"
        f"witness w {witness_key(2).verifier} \t https://w.example/é#part \nquorum  w"
    )
    assert read.logs == (LOG.verifier,)
    assert read.witnesses == {"w": Witness("w", witness_key(2).verifier, "https://w.example/é#part")}


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\x85", "\u3000"])
def test_other_spaces_are_parts_of_names(space: str) -> None:
    """Bytes above 127 are opaque: what Unicode calls a space separates nothing."""
    name = f"a{space}b"
    read = Policy.parse(f"witness {name} {witness_key(2).verifier}\nquorum {name}\n")
    assert read.is_met([name])


def test_names_are_compared_by_their_bytes() -> None:
    """The letter K and the Kelvin sign are two names, and so are a composed and a decomposed letter."""
    lines = [
        f"witness {name} {witness_key(seed).verifier}" for seed, name in enumerate(["K", "\u212a", "á", "a\u0301"])
    ]
    assert len(Policy.parse("\n".join([*lines, "quorum K"])).witnesses) == 4


def test_a_file_need_not_be_utf_8() -> None:
    """Bytes above 127 may be anything in names, URLs and comments; they are kept apart, and messages show them."""
    key, other = str(witness_key(2).verifier).encode(), str(witness_key(3).verifier).encode()
    lines = [b"# \xff", b"witness \xff " + key + b" https://\xfe", b"witness \xfe " + other, b"group g all \xfe \xff"]
    read = Policy.parse(b"\n".join([*lines, b"quorum g"]))
    assert [name.encode("utf-8", "surrogateescape") for name in read.witnesses] == [b"\xff", b"\xfe"]
    assert read.is_met(read.witnesses)
    with pytest.raises(InvalidPolicy) as refused:
        Policy.parse(b"\n".join([*lines, b"quorum \xfd"]))
    assert str(refused.value).encode() == b"Line 5 of the policy: '\\udcfd' is not defined before it."
    text = "witness \u00e9 " + key.decode() + "\nquorum \u00e9\n"
    assert Policy.parse(text.encode()) == Policy.parse(text)
    with pytest.raises(InvalidPolicy, match="Line 1"):
        Policy.parse(b"log \xff" + str(LOG.verifier).encode() + b"\nquorum none")  # the name of a key is UTF-8


_ML_DSA = base64.b64encode(b"\x06" + bytes(1312)).decode()
REFUSED = {
    "no quorum": (["group g any w2"], "exactly one line"),
    "two quorums": (["quorum w2", "quorum w3"], "exactly one line"),
    "the same quorum twice": (["quorum w2", "quorum w2"], "exactly one line"),
    "none and a quorum": (["quorum none", "quorum w3"], "exactly one line"),
    "an unknown keyword": (["threshold 2"], "does not read"),
    "a keyword in capitals": (["QUORUM none"], "does not read"),
    "a quorum of nobody": (["quorum"], "does not read"),
    "a quorum of two names": (["quorum w2 w3"], "does not read"),
    "a comment after a line": (["quorum w2 # why"], "does not read"),
    "a quorum that is not defined": (["quorum w9"], "'w9' is not defined before"),
    "a quorum that is defined later": (["quorum g", "group g any w2"], "'g' is not defined before"),
    "a quorum by the name of a key": ([f"quorum {WITNESSES['w2'].name}"], "not defined before"),
    "a group without members": (["group g any"], "does not read"),
    "a group without a number": (["group g w2 w3"], "'w2' of 1 members"),
    "a group of zero": (["group g 0 w2"], "'0' of 1 members"),
    "a group of more than there are": (["group g 3 w2 w3"], "'3' of 2 members"),
    "a negative number": (["group g -1 w2 w3"], "'-1' of 2 members"),
    "a signed number": (["group g +1 w2 w3"], r"'\+1' of 2 members"),
    "another spelling of all": (["group g ALL w2 w3"], "'ALL' of 2 members"),
    "a fraction": (["group g 1.0 w2"], "'1.0' of 1 members"),
    "other digits": (["group g ² w2 w3"], "'²' of 2 members"),
    "a number of 5000 digits": ([f"group g {'1' * 5000} w2"], "of 1 members"),
    "a member that is not defined": (["group g any w9"], "'w9' is not defined before"),
    "a member that is defined later": (["group g any h", "group h any w2"], "'h' is not defined before"),
    "a group of itself": (["group g any g"], "'g' is not defined before"),
    "none as a member": (["group g any none"], "'none' is not defined before"),
    "a member twice in a group": (["group g any w2 w2"], "'w2' is a member of a group already"),
    "a member of two groups": (["group g any w2", "group h all w2 w3"], "'w2' is a member of a group already"),
    "a group in two groups": (["group g any w2", "group h any g", "group i any g"], "'g' is a member"),
    "a witness named none": ([f"witness none {witness_key(20).verifier}"], "'none' is taken"),
    "a group named none": (["group none any w2"], "'none' is taken"),
    "a name twice": ([f"witness w2 {witness_key(20).verifier}"], "'w2' is taken"),
    "a group named as a witness": (["group w2 any w3"], "'w2' is taken"),
    "a witness named as a group": (["group g any w3", f"witness g {witness_key(20).verifier}"], "'g' is taken"),
    "a group twice": (["group g any w3", "group g any w4"], "'g' is taken"),
    "the key of a log twice": ([f"log {LOG.verifier}"], "log is there already"),
    "the key of a log under another name": ([f"log {log_key(name='another').verifier}"], "log is there already"),
    "the key of a witness twice": ([f"witness w {witness_key(2).verifier}"], "witness is there already"),
    "the key of a witness under another name": (
        [f"witness w {witness_key(2, 'another').verifier}"],
        "witness is there already",
    ),
    "a log with the key of a witness": ([f"log {witness_key(20).verifier}"], "not one of a log"),
    "a witness with the key of a log": ([f"witness w {log_key(20).verifier}"], "not one of a witness"),
    "a log without a key": (["log"], "does not read"),
    "a log with two URLs": ([f"log {log_key(20).verifier} https://a https://b"], "does not read"),
    "a witness without a key": (["witness w"], "does not read"),
    "a witness without a name": ([f"witness {witness_key(20).verifier}"], "does not read"),
    "a witness with two URLs": ([f"witness w {witness_key(20).verifier} https://a https://b"], "does not read"),
    "a key that cannot be read": (["log rubbish"], "verifier key reads|base64"),
    "a key of another algorithm": ([f"witness w n+00000000+{_ML_DSA}"], "Ed25519"),
    "a carriage return": (["quorum w2\r"], "control character"),
    "a null": (["quorum w2\x00"], "control character"),
    "a form feed in a comment": (["# \x0c"], "control character"),
    "a delete character": (["# \x7f"], "control character"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_policy_that_breaks_a_rule_is_refused(case: str) -> None:
    """With a sentence that names the line, where it is one line's fault."""
    lines, sentence = REFUSED[case]
    assert policy("quorum w2").quorum == "w2"
    with pytest.raises(InvalidPolicy, match=sentence) as refused:
        policy(*lines)
    if "exactly one line" not in sentence:
        number = len(LINES) + (1 if "later" in case else len(lines))
        assert str(refused.value).startswith(f"Line {number} ")


def test_lines_of_logs_and_witnesses_may_come_in_any_order() -> None:
    """Also after the quorum and the groups that do not name them; each log may have a URL."""
    read = Policy.parse("\n".join([LINES[1], "quorum w2", *LINES[2:], LINES[0] + " https://log.example"]))
    assert read.logs == (LOG.verifier,)
    assert list(read.witnesses) == list(WITNESSES)


def test_a_witness_outside_of_the_quorum_counts_for_nothing() -> None:
    """It may be listed, be a member of a group that is not used, and be named as keywords are."""
    read = policy("group any any w2", "group all 2 w3 w4", "quorum all")
    assert read.is_met(["w3", "w4"])
    assert not read.is_met(["w2", "w3", "w5", "all", "any"])


@pytest.mark.parametrize(
    "lines",
    [
        ["group g any w2 w3"],
        ["group g 2 w2 w3 w4 w5"],
        ["group g 3 w2 w3 w4 w5 w6 w7"],
        ["group a any w2 w3", "group b any w4 w5", "group g all a b"],
        ["group a any w2 w3", "group b all w4 w5", "group g 1 a b"],
        ["group a any w2 w3", "group g 2 a w4 w5"],
    ],
)
def test_a_quorum_that_two_disjoint_sets_make_up_is_refused(lines: list[str]) -> None:
    """They could sign two different logs, all being honest. `2k <= n` is the simplest case."""
    with pytest.raises(InvalidPolicy, match="more than half"):
        policy(*lines, "quorum g")
    assert policy(*lines, "quorum none").groups["g"]  # it is the quorum that must not be trusted


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in range(1, 8) for k in range(1, n + 1) if 2 * k > n])
def test_k_of_n_witnesses_survive_2k_minus_n_minus_1(n: int, k: int) -> None:
    """One less than two quorums have in common at least."""
    names = list(WITNESSES)[:n]
    read = policy(f"group g {k} {' '.join(names)}", "quorum g")
    assert read.tolerated == 2 * k - n - 1
    for size in range(n + 1):
        assert all(read.is_met(chosen) == (size >= k) for chosen in combinations(names, size))


@st.composite
def quorums(draw: st.DrawFn) -> Policy:
    """Trees of groups over at most seven witnesses."""
    names = list(WITNESSES)[: draw(st.integers(1, 7))]
    free, groups = list(names), dict[str, Group]()
    while len(free) > 1 or (free[0] in names and draw(st.booleans())):
        count = draw(st.integers(1, len(free)))
        members = draw(st.permutations(free))[:count]
        name = f"g{len(groups)}"
        groups[name] = Group(draw(st.integers(1, count)), tuple(members))
        free = [*(other for other in free if other not in members), name]
        if len(groups) == 6:
            break
    witnesses = {name: Witness(name, WITNESSES[name].verifier) for name in names}
    return Policy((LOG.verifier,), witnesses, groups, free[-1])


def signed_by_definition(policy: Policy, name: str, signers: frozenset[str]) -> bool:
    """Whether a witness or group has signed: the rule as the specification words it."""
    if name in policy.witnesses:
        return name in signers
    group = policy.groups[name]
    return sum(signed_by_definition(policy, member, signers) for member in group.members) >= group.least


@given(quorums())
def test_what_a_quorum_survives_is_what_all_sets_of_witnesses_say(policy: Policy) -> None:
    """By brute force: the smallest intersection of two sets that make up the quorum, less one."""
    assert policy.quorum is not None
    names = list(policy.witnesses)
    subsets = [frozenset(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)]
    enough = [chosen for chosen in subsets if signed_by_definition(policy, policy.quorum, chosen)]
    assert [chosen for chosen in subsets if policy.is_met(chosen)] == enough
    smallest = [chosen for chosen in enough if not any(other < chosen for other in enough)]
    assert policy.tolerated == min(len(first & second) for first in smallest for second in smallest) - 1


def test_many_logs_witnesses_and_groups_are_read() -> None:
    """The specification recommends 32 of each at least; 300 witnesses are no trouble."""
    lines = [f"log {log_key(1000 + seed, f'log{seed}').verifier}" for seed in range(40)]
    lines += [f"witness w{seed} {witness_key(2000 + seed).verifier}" for seed in range(300)]
    for group in range(100):
        lines.append(f"group g{group} 2 w{3 * group} w{3 * group + 1} w{3 * group + 2}")
    lines += [f"group all-of-them 80 {' '.join(f'g{group}' for group in range(100))}", "quorum all-of-them"]
    read = Policy.parse("\n".join(lines))
    assert (len(read.logs), len(read.witnesses), len(read.groups)) == (40, 300, 101)
    assert read.tolerated == 59
    assert read.is_met(f"w{seed}" for seed in range(240))
    assert not read.is_met(f"w{seed}" for seed in range(238))


def test_groups_may_be_nested_as_deeply_as_there_are_lines() -> None:
    """No recursion: 900 groups, each with the one before it as its member."""
    lines = [LINES[1], "group g0 all w2", *(f"group g{depth} all g{depth - 1}" for depth in range(1, 900))]
    read = Policy.parse("\n".join([*lines, "quorum g899"]))
    assert (read.is_met(["w2"]), read.is_met([]), read.tolerated) == (True, False, 0)


def test_a_policy_of_too_many_lines_is_refused() -> None:
    """1,000 are enough."""
    assert Policy.parse("\n" * 998 + "quorum none\n").quorum is None
    with pytest.raises(InvalidPolicy, match="at most 1000 lines"):
        Policy.parse("\n" * 1000 + "quorum none")


def test_a_checkpoint_with_the_log_and_a_quorum_is_trusted() -> None:
    """The result names who signed, by the names of the policy."""
    read = policy("group g 2 w2 w3 w4", "quorum g")
    signed = read.require(Note.parse(str(cosigned(["w4", "w2", "w7"]))))
    assert signed.checkpoint == CHECKPOINT
    assert set(signed.cosignatures) == {"w2", "w4", "w7"}
    assert {signature.time for signature in signed.cosignatures.values()} == {1}


def test_a_checkpoint_without_the_log_or_a_quorum_is_not_trusted() -> None:
    """Each with a sentence that says what is missing."""
    read = policy("group g 2 w2 w3 w4", "quorum g")
    for note, sentence in (
        (cosigned(["w2"]), "too few signatures of witnesses: w2"),
        (cosigned(["w5", "w6"]), "too few signatures"),
        (cosigned([]), "nobody signed"),
        (cosigned(["w2", "w3"], log_key(9)), "not signed by the key of"),
        (replace(cosigned(["w2", "w3"]), signatures=cosigned(["w2", "w3"]).signatures[1:]), "not signed by the key of"),
        (Checkpoint("another", 3, bytes(32)).signed(log_key(name="another")), "no key of the log another"),
        (Note("rubbish\n", cosigned(["w2", "w3"]).signatures), "A checkpoint is"),
    ):
        with pytest.raises(InvalidNote, match=sentence):
            read.require(note)


def test_the_same_witness_twice_is_one_witness() -> None:
    """Whatever the times of its signatures, and under whatever name it puts them."""
    read = policy("group g 2 w2 w3 w4", "quorum g")
    note = cosigned(["w2", "w2"])
    late = WITNESSES["w2"].sign(note.text, time=2)
    as_another = replace(late, name=WITNESSES["w3"].name)
    with pytest.raises(InvalidNote, match="w2 signed it"):
        read.require(replace(note, signatures=(*note.signatures, late, as_another)))


def test_signatures_of_another_checkpoint_do_not_count() -> None:
    """Neither the log's nor a witness's: the whole note is refused, as somebody altered it."""
    read = policy("group g 2 w2 w3 w4", "quorum g")
    other = Checkpoint(ORIGIN, 4, bytes(32))
    late = WITNESSES["w4"].sign(other.text, time=1)
    with pytest.raises(InvalidNote, match="is not valid"):
        read.require(replace(cosigned(["w2", "w3"]), signatures=(*cosigned(["w2", "w3"]).signatures, late)))
    with pytest.raises(InvalidNote, match="not signed by the key"):
        read.require(Note(other.text, cosigned(["w2", "w3"]).signatures))


def test_a_log_cannot_witness_itself_with_its_own_signature() -> None:
    """One secret key as a log and as a witness: each signature counts for its own line of the policy."""
    both = SigningKey(ORIGIN, SignatureType.COSIGNATURE, secret_key(1))
    read = Policy.parse(f"log {LOG.verifier}\nwitness w {both.verifier}\nquorum w\n")
    note = CHECKPOINT.signed(LOG)
    with pytest.raises(InvalidNote, match="nobody signed"):
        read.require(note)
    cosignature = both.sign(note.text, time=1)
    assert read.require(replace(note, signatures=(*note.signatures, cosignature))).cosignatures == {"w": cosignature}
    with pytest.raises(InvalidNote, match="not signed by the key"):
        read.require(replace(note, signatures=(cosignature,)))


def test_either_key_of_a_log_is_enough_while_it_changes_keys() -> None:
    """Two lines of a policy may name one log with two keys."""
    read = Policy.parse(f"log {LOG.verifier}\nlog {log_key(9).verifier}\nquorum none\n")
    for key in (LOG, log_key(9)):
        assert read.require(CHECKPOINT.signed(key)).checkpoint == CHECKPOINT


WORDS = st.sampled_from(
    [*LINES, "log", "witness", "group", "quorum", "none", "any", "all", "g", "h", "w2", "w3", "2", "9" * 5000, "#", "é"]
)
HOSTILE = st.lists(st.lists(WORDS | st.text(max_size=3), max_size=5).map(" ".join), max_size=12).map("\n".join)


@given(st.one_of(st.text(), st.binary(), HOSTILE, HOSTILE.map(lambda text: f"{chr(10).join(LINES)}\n{text}")))
def test_reading_raises_nothing_but_invalid_policy(text: str | bytes) -> None:
    """And a policy that is read has a quorum that can be met, and trusted."""
    try:
        read = Policy.parse(text)
    except InvalidPolicy:
        return
    assert read.is_met(read.witnesses)
    assert read.tolerated >= 0 or read.quorum is None
    assert all(isinstance(key, VerifierKey) for key in read.logs)
