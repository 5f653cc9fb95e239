"""Readers of uploads: the body of one upload -> records, or counts on a grid that is already fixed.

Memory is bounded by `limits.Limits`, each row is parsed on its own, and nothing is written to disk unencrypted.

No privacy mechanism runs in this package. It draws no noise, chooses no grid from the data and compares nothing with a
threshold: those steps of the proof in `core.release` run in `core.release.draw`, on the rows that
`upload.read_upload` yields. What this package contributes is step 1 of the proof: one row becomes at most one record,
whatever the other rows are. A refusal depends on the file as a whole (`errors`), never on the values of a row.
"""
