"""The dashboard: server-rendered pages for curators, analysts, auditors and admins, and the files they load."""
