"""The mathematics of rugnik: values in, values out; no files, clock, environment or network."""
