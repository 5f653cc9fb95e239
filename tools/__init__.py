"""Tools for those who work on rugnik: sources that are made from other sources."""
