"""Check a receipt without rugnik: python verify_receipt.py LOG_KEY RECEIPT SYNOPSIS [WITNESS_KEY ...]

Keys are verifier keys, NAME+ID+BASE64, which you have from somebody you trust. SYNOPSIS is the file synopsis.bin.
It needs Python and `cryptography`, and ends with a sentence and code 1 where something does not hold.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def require(holds: bool, sentence: str) -> None:
    """Go on if it holds."""
    if not holds:
        sys.exit(sentence)


def signs(verifier_key: str, text: str, lines: list[str]) -> bool:
    """Whether one of the signature lines is of this key (C2SP signed-note; 4: tlog-cosignature)."""
    name, key_id, material = verifier_key.split("+", 2)
    kind, *public = base64.b64decode(material)
    for _dash, signer, encoded in (line.split(" ") for line in lines):
        value = base64.b64decode(encoded)
        if (signer, value[:4].hex()) != (name, key_id):
            continue
        signature = value[12:] if kind == 4 else value[4:]
        time = f"cosignature/v1\ntime {int.from_bytes(value[4:12], 'big')}\n" if kind == 4 else ""
        try:
            Ed25519PublicKey.from_public_bytes(bytes(public)).verify(signature, (time + text).encode())
        except InvalidSignature:
            return False
        return True
    return False


def root_of(entry: dict, size: int, hashes: list[str]) -> bytes:
    """The root that the hashes lead to from the hash of an entry (RFC 9162, section 2.1.3.2)."""
    place, last = entry["seq"] - 1, size - 1
    require(0 <= place <= last, "An entry is newer than the signed log.")
    digest = hashlib.sha256(b"\0" + bytes.fromhex(entry["hash"])).digest()
    for sibling in map(base64.b64decode, hashes):
        is_right = place % 2 == 1 or place == last
        digest = hashlib.sha256(b"\1" + (sibling + digest if is_right else digest + sibling)).digest()
        while is_right and place % 2 == 0 and place:
            place, last = place // 2, last // 2
        place, last = place // 2, last // 2
    require(last == 0, "A proof of inclusion has too few hashes.")
    return digest


def hash_of(entry: dict) -> str:
    """The hash that an entry of the ledger must have."""
    content = {name: value for name, value in entry.items() if name != "hash"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


if len(sys.argv) < 4:
    sys.exit(__doc__.rstrip())
log_key, receipt_file, synopsis_file, *witness_keys = sys.argv[1:]
head, text, signatures = Path(receipt_file).read_text(encoding="utf-8").split("\n\n")
_first, extra, _index, *publish_hashes = head.split("\n")
text, lines = text + "\n", signatures.splitlines()
origin, size, root = text.splitlines()[:3]
extra = json.loads(base64.b64decode(extra.removeprefix("extra ")))
publish, charge, charge_proof = extra["publish"], extra["charge"], extra["charge_proof"]
synopsis = Path(synopsis_file).read_bytes()
header = json.loads(synopsis.split(b"\n", 2)[1])

require(log_key.startswith(f"{origin}+") and signs(log_key, text, lines), "The log has not signed the checkpoint.")
for key in witness_keys:
    require(signs(key, text, lines), f"{key.split('+')[0]} has not signed the checkpoint.")
for entry, kind, hashes in ((publish, "publish", publish_hashes), (charge, "charge", charge_proof["hashes"])):
    require(entry["kind"] == kind and entry["hash"] == hash_of(entry), f"The {kind} entry does not match its hash.")
    is_included = root_of(entry, int(size), hashes) == base64.b64decode(root)
    require(is_included, f"The {kind} entry is not in the signed log.")
for name in ("release", "dataset"):
    require(publish[name] == charge[name] == header[name], f"The two entries and the synopsis differ in their {name}.")
require(charge["epsilon"] == header["epsilon"], "The synopsis has another epsilon than the one that was charged.")
require(charge["seq"] < publish["seq"], "The charge does not come before the publish.")
digest = hashlib.sha256(synopsis).hexdigest()
require(publish["detail"]["digest"] == digest, "The synopsis is not the one that was published.")
charged = f"epsilon {charge['epsilon']} was charged to {charge['dataset']} on {charge['at'][:10]}"
sys.stdout.write(f"{charged} for the synopsis {digest}\nsigned by {origin} and {len(set(witness_keys))} witnesses\n")
