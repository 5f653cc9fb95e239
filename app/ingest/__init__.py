"""The rows of one upload become counts: bounded memory, each row read by itself, nothing in the clear on disk."""
