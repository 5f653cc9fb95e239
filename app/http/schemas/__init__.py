"""Request and response bodies: pydantic at the edge, and nowhere else."""
