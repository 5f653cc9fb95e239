"""The database: engine, transactions, tables and the FIFO lock for writers. The only package that names SQL dialects."""
