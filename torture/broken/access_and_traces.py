"""Lines that decide who sees what, and that leave no trace of rows or secrets behind."""

from __future__ import annotations

from torture.broken.mutant import Mutant, Promise

PROMISES = (
    Promise(
        "A key may do what its role and its datasets allow, and nothing else.",
        (
            Mutant(
                "a role that may do anything",
                "app/access/principal.py",
                "        return permission in self.role.permissions",
                "        return True",
                ("tests/contracts/test_roles.py",),
            ),
            Mutant(
                "a key limited to datasets that reaches all",
                "app/access/principal.py",
                "        return self.datasets is None or dataset in self.datasets",
                "        return True",
                ("tests/contracts/test_roles.py",),
            ),
            Mutant(
                "an order shown to analysts before it is published",
                "app/releases/reading.py",
                "    if release.standing.state is not State.PUBLISHED and not caller.can(Permission.SEE_ORDERS):",
                "    if release.standing.state is not State.PUBLISHED and not caller.can(Permission.ASK):",
                ("tests/app/releases/test_releases.py", "tests/contracts/test_roles.py"),
            ),
            Mutant(
                "an answer in memory given to a key that may not see its dataset",
                "app/http/middleware/hot_answers.py",
                " or not caller.may_see(kept.dataset):",
                ":",
                ("tests/app/access", "tests/contracts/test_roles.py"),
            ),
        ),
    ),
    Promise(
        "Who reads the database can sign in as nobody.",
        (
            Mutant(
                "keys on record by a hash that opens a session",
                "app/access/keys.py",
                "    return sha256(secret_sha256.encode()).hexdigest()",
                "    return secret_sha256",
                ("tests/app/access",),
            ),
        ),
    ),
    Promise(
        "A page of another site does nothing in a browser's session.",
        (
            Mutant(
                "a cookie that scripts can read",
                "app/dashboard/signing.py",
                '        httponly=True,\n        samesite="strict",\n    )',
                '        samesite="strict",\n    )',
                ("tests/app/access/test_sessions.py",),
            ),
            Mutant(
                "a change by cookie without the token of a page",
                "app/http/cookies.py",
                "    if sent is None or not hmac.compare_digest(",
                "    if sent is not None and not hmac.compare_digest(",
                ("tests/app/access/test_sessions.py",),
            ),
            Mutant(
                "replies that a browser may run",
                "app/http/middleware/safety_headers.py",
                "default-src 'none'; frame-ancestors 'none'",
                "default-src *",
                ("tests/app/access/test_sessions.py",),
            ),
        ),
    ),
    Promise(
        "Neither logs nor errors tell of rows or of uploads.",
        (
            Mutant(
                "a request of a curator in the log",
                "app/http/middleware/observe_requests.py",
                "return caller is not None and not caller.can(Permission.CURATE) and not is_upload(scope)",
                "return caller is not None and not is_upload(scope)",
                ("tests/contracts/test_unnoted.py",),
            ),
            Mutant(
                "an exception's message in the log",
                "app/operations/observability.py",
                '        said = {"message": record.getMessage()} if record.name.startswith("uvicorn") else {}',
                '        said = {"message": record.getMessage() + str(record.exc_info)}',
                ("tests/app/test_canary.py", "tests/app/operations/test_observability.py"),
            ),
            Mutant(
                "the number of rows of an upload in the log",
                "app/releases/uploading.py",
                "    store(service, Drawn.synopsis(recorded, synopsis))\n",
                "    __import__('structlog').get_logger().warning(\"stored\", rows=ingest.rows_read)\n"
                "    store(service, Drawn.synopsis(recorded, synopsis))\n",
                (
                    "tests/app/test_canary.py",
                    "tests/app/releases/test_neighbours.py",
                    "tests/contracts/test_unnoted.py",
                ),
            ),
            Mutant(
                "the name of an unknown field in an error",
                "app/faults.py",
                '        place = place[:-1] if kind == "extra_forbidden" else place\n',
                "",
                ("tests/app/test_canary.py", "tests/contracts/test_error_shape.py"),
            ),
        ),
    ),
    Promise(
        "Nothing of an upload stays on a disk that anybody could read.",
        (
            Mutant(
                "a spool that is not encrypted",
                "app/ingest/spool.py",
                "BLOCK_BYTES = 64 * KIB",
                "BLOCK_BYTES = 64 * KIB\n"
                "class AESGCM:  # noqa\n"
                "    generate_key = staticmethod(lambda bit_length: b'')\n"
                "    def __init__(self, key): pass\n"
                "    def encrypt(self, nonce, data, extra): return bytes(data) + bytes(16)\n"
                "    def decrypt(self, nonce, data, extra): return bytes(data)[:-16]\n",
                ("tests/app/test_canary.py", "tests/app/ingest/test_spool.py"),
            ),
            Mutant(
                "a spool with a name that outlives the process",
                "app/ingest/spool.py",
                'tempfile.TemporaryFile("w+b", buffering=0, dir=folder)',
                'tempfile.NamedTemporaryFile("w+b", buffering=0, dir=folder, delete=False)',
                ("tests/app/ingest/test_spool.py", "tests/app/test_canary.py"),
            ),
            Mutant(
                "core dumps",
                "app/operations/process_privacy.py",
                "    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n",
                "",
                ("tests/app/test_canary.py",),
            ),
            Mutant(
                "files that others can read",
                "app/operations/process_privacy.py",
                "os.umask(0o077)",
                "os.umask(0o022)",
                ("tests/app/storage/test_files.py",),
            ),
        ),
    ),
    Promise(
        "A worker process knows no setting and no secret.",
        (
            Mutant(
                "settings of the service in a worker process",
                "app/operations/worker_pool.py",
                "if name in _VARIABLES or name.startswith(_PREFIXES)}",
                "if name}",
                ("tests/app/operations/test_worker_pool.py",),
            ),
        ),
    ),
    Promise(
        "One key's appetite does not stop the others.",
        (
            Mutant(
                "a key that may take every slot",
                "app/operations/lanes.py",
                "self._busy[key] < self._per_key",
                "self._busy[key] < self._slots",
                ("tests/app/operations/test_lanes.py",),
            ),
        ),
    ),
)
