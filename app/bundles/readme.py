"""README.txt of a bundle: what the file is, how to check it, and how to use it, for somebody who finds it in years."""

from __future__ import annotations

from core.synopsis import Synopsis

# A bundle's bytes never change for a release, so neither may this text: a new wording is a new version of the bundle.
_TEXT = """\
This is a rugnik bundle: the release {release} of the dataset "{dataset}".

WHAT IT IS
A statistical summary of a table. Rows were counted in cells, and random noise
was added to every count. The noise limits what anybody can learn from this
file about whether one {unit} was in the table: differential privacy with epsilon
{epsilon}. The rows themselves are not in here. Ask as many questions of this file
as you like: answers use up no epsilon.

WHAT IS INSIDE
synopsis.bin        the noisy counts with their grid, in rugnik's canonical form:
                    a line that names the format, a line of JSON, then 64-bit
                    integers, little-endian
receipt.tlog-proof  the proof that this release stands in a public ledger
                    (C2SP tlog-proof)
card.json           what a reader should know about the release: unit, epsilon,
                    mechanism, bounds
croissant.json      the same for catalogues of data (Croissant)
terms.txt           the terms of use
policy              which witnesses the publisher suggests to trust. Decide for
                    yourself: do not trust a file because it says so

HOW TO CHECK IT
    unzip -p FILE.rugnik synopsis.bin | sha256sum
prints the digest that the ledger has for this release:
    {digest}

HOW TO USE IT
    pip install 'rugnik[cli,offline]'
    rugnik query moments FILE.rugnik
    rugnik query clusters FILE.rugnik --k 5
or in Python:
    import rugnik
    release = rugnik.open("FILE.rugnik")
    print(release.moments().to_pandas())
No service and no network is needed. Answers are those that the service of the
same version of rugnik gave.
"""


def readme(synopsis: Synopsis, digest: str) -> str:
    """The text for a synopsis with this digest."""
    return _TEXT.format(
        release=synopsis.release,
        dataset=synopsis.dataset,
        unit="person" if synopsis.unit.is_person else "row",
        epsilon=synopsis.epsilon,
        digest=digest,
    )
