"""`python -m torture.fuzzing.replay torture/out/csv-17.body`: send a kept file to a new service, and print what comes.

A stream of counts names the release of its time: it is made again from its number.
"""

from __future__ import annotations

import sys
from pathlib import Path

from torture.console import console
from torture.fuzzing.counts_streams import counts
from torture.fuzzing.damage import Chance
from torture.fuzzing.files import COUNTED, Sent, headers
from torture.fuzzing.upload_target import Sender, running_service
from torture.model import Broken


def main(path: Path) -> int:
    """Send the file; 1 if it still breaks something."""
    name, _, number = path.stem.rpartition("-")
    with running_service() as service:
        sender = Sender(service)
        before = service.peak
        try:
            release = sender.order(name, int(number))
            content = path.read_bytes()
            if name == COUNTED:
                content = counts(Chance(path.stem.replace("-", "/")), release, sender.target(release))
            sender.send(name, release, Sent(content, headers(name)))
            service.require_sound()
        except Broken as reason:
            console.print(str(reason), markup=False)
            console.print(service.server.log.read_text(), markup=False)
            return 1
        finally:
            sender.close()
        console.print(service.notes.replies, service.notes.sentences, f"{service.peak - before} MB more at the peak")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
