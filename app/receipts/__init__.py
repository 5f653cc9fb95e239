"""Receipts, the use case of whoever was given a file: is this the release that epsilon was charged for?

`downloads` tells the forms of a download apart and reads bundles. `tables` reads CSV, Parquet and Arrow, `answers`
reads JSON: each gives back the integers of the synopsis, and names the first difference from what the service writes.
`verifying` puts them together with the receipt (`core.log.receipt`). Nothing here asks a service or a database.
"""
