"""The transparency log: a Merkle tree over the ledger, signed checkpoints, policies and proofs, as values.

The formats are public ones: RFC 6962 for the tree, and C2SP's signed-note, tlog-checkpoint, tlog-cosignature,
tlog-policy, tlog-proof and tlog-witness. Nothing here reads a file, a clock or a network. `ed25519` alone needs a
library: `cryptography`.
"""
