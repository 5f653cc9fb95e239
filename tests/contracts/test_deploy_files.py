"""Dockerfile, docker-compose.yml, the systemd unit and the nginx example agree with the service and with each other."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from app.cli import main
from app.http.middleware.body_limit import BODY_SECONDS
from app.http.protocol import HEAD_SECONDS, MAX_HEAD_BYTES, WRITE_SECONDS
from app.operations.server import GRACE_SECONDS
from app.operations.start_checks import SPARE_FILES
from app.settings.settings import SECRETS, Settings
from app.storage.database import POOL_OVERFLOW, POOL_SIZE
from tests.support.deployment.composed import COMPOSE
from tests.support.deployment.image import ROOT, context, instructions, tracked_files

SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
STEPS = instructions((ROOT / "Dockerfile").read_text())
UNIT = (ROOT / "deploy" / "rugnik.service").read_text()
NGINX = re.sub(r"#.*", "", (ROOT / "deploy" / "nginx.conf").read_text())
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def image_variables() -> dict[str, str]:
    """The settings that the image brings along."""
    words = [word for step in STEPS if step.name == "ENV" for word in step.words]
    return {name: value for name, _, value in (word.partition("=") for word in words) if name.startswith("RUGNIK_")}


def unit(name: str) -> list[str]:
    """The values of one entry of the systemd unit."""
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def parsed(words: list[str]) -> dict[str, Any]:
    """A command line of `rugnik` as its own parser reads it, without being run."""
    commands: dict[str, Any] = get_command(main).commands  # type: ignore[attr-defined]
    params: dict[str, Any] = commands[words[0]].make_context(words[0], words[1:]).params
    return params


def test_hadolint_has_nothing_to_say() -> None:
    """The linter's every rule, information included."""
    linter = Path(sysconfig.get_path("scripts")) / "hadolint"
    done = subprocess.run([linter, ROOT / "Dockerfile"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_last_stage_holds_no_compiler_and_installs_nothing() -> None:
    """One copy from the stage that did, a numeric user, a health check, and labels of this version."""
    last = STEPS[max(number for number, step in enumerate(STEPS) if step.name == "FROM") :]
    runs = " ".join(step.rest for step in last if step.name == "RUN")
    assert not re.search(r"\b(apt|apt-get|apk|gcc|pip|curl|wget)\b", runs)
    assert [step.rest for step in last if step.name == "COPY"] == ["--from=build /opt/rugnik /opt/rugnik"]
    assert [step.rest for step in last if step.name == "USER"] == ["10001:10001"]
    assert [step.name for step in last].count("HEALTHCHECK") == 1
    (labels,) = (step.words for step in last if step.name == "LABEL")
    assert f"org.opencontainers.image.version={VERSION}" in labels


def test_every_installed_file_comes_from_a_hash() -> None:
    """Each pip install names a lock and wants hashes, or may not reach for an index; only wheels are taken."""
    installs = [part for step in STEPS for part in step.rest.split("&&") if step.name == "RUN" and " install " in part]
    installs = [part for part in installs if "pip" in part]
    assert len(installs) == 3
    for install in installs:
        locked = "--require-hashes" in install and "--only-binary=:all:" in install and ".lock" in install
        assert locked or ("--no-index" in install and "--no-deps" in install), install


def test_the_build_is_given_sources_and_nothing_else(tmp_path: Path) -> None:
    """No history, no tests, no data, and above all no secrets."""
    given = {path.name for path in context(ROOT, tmp_path).iterdir()}
    assert given == {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {word for step in STEPS if step.name == "COPY" for word in step.words[:-1]}
    assert given == {word for word in copied if not word.startswith(("--", "/"))}
    assert not [name for name in tracked_files(ROOT) if name.startswith("secrets/")]


@pytest.mark.parametrize("kind", ["secrets", "volumes", "networks"])
def test_what_a_service_names_is_declared_and_what_is_declared_is_used(kind: str) -> None:
    """A misspelt name would be found by nobody before the first start."""
    named = {entry.partition(":")[0] for service in SERVICES.values() for entry in service.get(kind, [])}
    assert named == set(COMPOSE[kind])


def test_services_wait_for_services_that_can_be_waited_for() -> None:
    """A healthy one has a health check, one that completes is not started again."""
    for service in SERVICES.values():
        for name, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[name]
            else:
                assert (wait["condition"], SERVICES[name]["restart"]) == ("service_completed_successfully", "no")


def test_the_compose_files_variables_are_settings() -> None:
    """Known by name, accepted by value, and none of them a secret."""
    variables = image_variables()
    for service in OURS.values():
        variables |= service["environment"]
    known = {f"RUGNIK_{name.upper()}" for name in Settings.model_fields}
    assert set(variables) <= known
    assert not set(variables) & {f"RUGNIK_{name.upper()}" for name in SECRETS}
    del variables["RUGNIK_SECRETS_DIR"]  # a folder that is there in a container only
    settings = Settings(**{name.removeprefix("RUGNIK_").lower(): value for name, value in variables.items()})
    assert settings.url.password is None
    assert settings.url.host in SERVICES


def test_secrets_have_the_names_of_settings() -> None:
    """As files that git and the build never see; the database gets its own and not the admin key."""
    assert set(COMPOSE["secrets"]) <= {f"rugnik_{name}" for name in SECRETS}
    assert {name: secret["file"] for name, secret in COMPOSE["secrets"].items()} == {
        name: f"./secrets/{name}" for name in COMPOSE["secrets"]
    }
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    database = SERVICES["database"]
    assert database["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{database['secrets'][0]}"
    assert len(database["secrets"]) == 1


def test_containers_can_do_no_more_than_they_need() -> None:
    """A read-only root, no capabilities, no new ones, no core dumps; the port is for this machine's proxy alone."""
    for service in OURS.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["ulimits"]["core"] == 0
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8000:8000"]


def test_volumes_lie_where_the_image_has_folders_for_its_user() -> None:
    """A volume on any other path would belong to root, and the service could not write it."""
    (made,) = (step.rest for step in STEPS if step.name == "RUN" and "install --directory" in step.rest)
    folders = set(re.findall(r"/var/lib/rugnik/\w+", made))
    mounted = {volume.partition(":")[2] for service in OURS.values() for volume in service.get("volumes", [])}
    assert mounted < folders
    assert all(any(value.startswith(folder) for folder in folders) for value in image_variables().values())


def test_every_command_line_is_one_that_rugnik_takes() -> None:
    """Compose file, image and systemd unit, by the command's own parser; a wrong one is refused."""
    (start,) = unit("ExecStart")
    default = next(step.words for step in STEPS if step.name == "CMD")
    for words in [default, start.split()[1:], *(service["command"] for service in OURS.values())]:
        parsed(words)
    with pytest.raises(Exception, match="No such option"):
        parsed(["serve", "--wrokers", "4"])


def test_whoever_stops_the_service_waits_longer_than_it_takes() -> None:
    """Else requests at work would be cut off before their time."""
    assert int(SERVICES["api"]["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
    assert int(unit("TimeoutStopSec")[0]) > GRACE_SECONDS


def test_the_database_takes_as_many_connections_as_the_workers_open() -> None:
    """All of them busy at once, and a few left for people."""
    workers = parsed(SERVICES["api"]["command"])["workers"]
    (allowed,) = (
        int(word.partition("=")[2]) for word in SERVICES["database"]["command"] if word.startswith("max_connections=")
    )
    assert workers * (POOL_SIZE + POOL_OVERFLOW) + 20 <= allowed


def test_the_systemd_unit_hands_over_settings_and_secrets_that_exist() -> None:
    """Names of settings, credentials under the names that are looked for, and folders that it makes itself."""
    variables = dict(entry.split("=", 1) for entry in unit("Environment"))
    known = {f"RUGNIK_{name.upper()}" for name in Settings.model_fields} | {"PYTHONDONTWRITEBYTECODE"}
    assert set(variables) <= known
    assert variables["RUGNIK_SECRETS_DIR"] == "%d"
    assert {entry.partition(":")[0] for entry in unit("LoadCredential")} <= {f"rugnik_{name}" for name in SECRETS}
    made = {f"/var/lib/{name}" for name in unit("StateDirectory")[0].split()}
    for name in ("RUGNIK_DATA_DIR", "RUGNIK_WITNESS", "RUGNIK_SPOOL_DIR"):
        assert {variables[name], str(Path(variables[name]).parent)} & (made - {"/var/lib/rugnik"})
    assert (unit("LimitCORE"), unit("MemorySwapMax"), unit("DynamicUser")) == (["0"], ["0"], ["yes"])


def test_memory_files_and_processes_have_a_ceiling() -> None:
    """In containers and under systemd; no swap for rows, and files for every connection that a worker may have."""
    needed = Settings().max_connections + SPARE_FILES
    for service in OURS.values():
        assert service["mem_limit"] == service["memswap_limit"] == "6g"
        assert service["ulimits"]["nofile"] >= needed
        assert service["pids_limit"] > 0
    assert all("mem_limit" in service for service in SERVICES.values())
    assert int(unit("LimitNOFILE")[0]) >= needed
    assert (unit("MemoryMax"), unit("MemorySwapMax")) == (["6G"], ["0"])
    assert int(unit("TasksMax")[0]) > 0


def test_the_proxy_example_has_the_limits_of_the_server() -> None:
    """A client that one of them turns away does not get further through the other."""
    directives = {words[0]: words[1:] for words in (line.split() for line in re.split(r"[;{}]\s*", NGINX)) if words}
    number, size = directives["large_client_header_buffers"]
    assert int(number) * int(size.removesuffix("k")) * 1024 == MAX_HEAD_BYTES
    assert directives["client_header_timeout"] == [f"{HEAD_SECONDS:g}s"]
    assert directives["client_body_timeout"] == [f"{BODY_SECONDS:g}s"] == [f"{Settings().upload_idle_seconds:g}s"]
    assert directives["send_timeout"] == [f"{WRITE_SECONDS:g}s"]
    zone, most = directives["limit_conn"]
    assert directives["limit_conn_zone"] == ["$binary_remote_addr", f"zone={zone}:10m"]
    assert int(most) < Settings().max_connections
    assert int(directives["proxy_read_timeout"][0].removesuffix("s")) > WRITE_SECONDS


def test_the_proxy_example_keeps_uploads_off_its_disk_and_out_of_its_log() -> None:
    """nginx would write bodies to a file in the clear, and log when an upload ended."""
    directives = {tuple(line.split()) for line in re.split(r"[;{}]\s*", NGINX)}
    assert ("proxy_request_buffering", "off") in directives
    assert ("client_max_body_size", "0") in directives
    assert ("proxy_set_header", "X-Forwarded-Proto", "$scheme") in directives
    assert ("map", "$request_method", "$rugnik_logged") in directives
    assert ("PUT", "0") in directives
    logs = [words for words in directives if words[:1] == ("access_log",)]
    assert [words[-1] for words in logs] == ["if=$rugnik_logged"]
    assert NGINX.count("{") == NGINX.count("}")


def test_tools_that_are_installed_take_the_files(tmp_path: Path) -> None:
    """Compose and systemd read the files themselves wherever they are there; the tests above hold everywhere."""
    checks = {
        ("docker-compose",): ["config", "--quiet"],
        ("docker", "compose"): ["config", "--quiet"],
    }
    (tmp_path / "secrets").mkdir()
    for name in COMPOSE["secrets"]:
        (tmp_path / "secrets" / name).write_text("x" * 32)
    shutil.copy2(ROOT / "docker-compose.yml", tmp_path)
    for tool, words in checks.items():
        if (
            shutil.which(tool[0])
            and not subprocess.run([*tool, "version"], check=False, capture_output=True).returncode
        ):
            done = subprocess.run([*tool, *words], cwd=tmp_path, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    assert not re.search(r"(?m)^\s*version:", (ROOT / "docker-compose.yml").read_text())
