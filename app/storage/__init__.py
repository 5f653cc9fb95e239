"""The database: engine, transactions, tables, turns and pages. The only room that names SQL dialects."""
