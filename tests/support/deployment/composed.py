"""Deployment: the services of docker-compose.yml as processes of an unprivileged user, on the Image that is built.

Commands, variables, secrets and volumes are read off the file; only paths, the port and the database's address differ.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.deployment.image import ROOT, Image
from tests.support.deployment.unprivileged import IDENTITY, give

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@dataclass
class Deployment:
    """One start of the compose file: secrets in files, volumes as folders, a database somewhere else."""

    image: Image
    database_url: str
    secrets: dict[str, str]
    volumes: Path
    port: int = field(default_factory=free_port)

    def variables(self, name: str) -> dict[str, str]:
        """The environment of a service's process."""
        service = COMPOSE["services"][name]
        mounted = {"/run/secrets": str(self._secrets_of(name))}
        for volume in service.get("volumes", []):
            source, _, target = volume.partition(":")
            if not (self.volumes / source).exists():  # a volume takes over the image's owner when it is first mounted
                give(self.volumes / source)
            mounted[target] = str(self.volumes / source)
        own = self.image.environment | service["environment"] | {"RUGNIK_DATABASE_URL": self.database_url}
        for inside, outside in mounted.items():
            own = {key: value.replace(inside, outside) for key, value in own.items()}
        return {key: self.image.inside(value) for key, value in own.items()} | {
            key: value for key, value in self.image.variables().items() if key not in own
        }

    def start(self, name: str, log: Path, command: list[str] | None = None) -> subprocess.Popen[bytes]:
        """Start a service, or another command in its place, and do not wait for it."""
        words = [*self.image.entrypoint, *(command or COMPOSE["services"][name]["command"])]
        return self._process([word.replace("8000", str(self.port)) for word in words], self.variables(name), log)

    def check_health(self, name: str, log: Path) -> int:
        """Run the image's health check beside a service; 0 is healthy."""
        words = [word.replace("8000", str(self.port)) for word in self.image.healthcheck]
        return self._process(words, self.variables(name), log).wait(timeout=60)

    def _process(self, words: list[str], variables: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        program = shutil.which(words[0], path=variables["PATH"])
        assert program is not None, words[0]
        with log.open("ab") as output:
            return subprocess.Popen(
                [program, *words[1:]],
                env=variables,
                cwd=self.image.path("/var/lib/rugnik"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **IDENTITY,
            )

    def _secrets_of(self, name: str) -> Path:
        """A folder with the secrets that the service is given and no others: readable, not writable."""
        folder = self.volumes / f"secrets-{name}"
        folder.mkdir(exist_ok=True, mode=0o755)
        for secret in COMPOSE["services"][name].get("secrets", []):
            path = folder / secret
            path.write_text(self.secrets[secret] + "\n")
            path.chmod(0o444)
        return folder
