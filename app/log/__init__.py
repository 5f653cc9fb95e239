"""The ledger as a transparency log: the log's key, checkpoints, receipts and cosignatures of outside witnesses.

The tree itself is in memory (`core.log.nodes`): the replay of the ledger builds it from the entries it verified, so no
stored node can disagree with them. Tables hold what cannot be worked out again: the origin of the log, cosignatures,
and the checkpoints that receipts are pinned to.
"""
