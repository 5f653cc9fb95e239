"""HTTP, storage and people around the mathematics in `core`."""
