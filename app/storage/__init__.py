"""The database: engine, transactions, tables, and a FIFO lock for writers. Only this package names SQL dialects."""
