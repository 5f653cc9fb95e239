"""Settings: every RUGNIK_… variable with its type, default and description. README lists them; a test compares both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import URL

from app.ingest.limits import Limits
from app.settings.database_url import parse_database_url
from app.settings.secret_files import read_secrets
from core.budget import Epsilon
from core.errors import InvalidEpsilon
from core.log.checkpoint import ORIGIN

MIB = 2**20
GIB = 2**30


def _decimal_epsilon(text: str) -> str:
    try:
        return str(Epsilon.parse(text))
    except InvalidEpsilon as error:
        raise ValueError(str(error)) from None


def _long_enough(secret: SecretStr) -> SecretStr:
    if len(secret.get_secret_value()) < 32:
        raise ValueError("a key set by hand has at least 32 characters")
    return secret


def _usable_url(text: str) -> str:
    parse_database_url(text)
    return text


def _usable_origin(text: str) -> str:
    if not ORIGIN.fullmatch(text):
        raise ValueError("an origin has up to 200 printable characters, no spaces and no plus sign")
    return text


LongSecret = Annotated[SecretStr, AfterValidator(_long_enough)]
SECRETS = ("database_password", "admin_key", "metrics_key", "log_key")


class Settings(BaseSettings):
    """The settings of a service, passed to `create_app`. No other code reads the environment."""

    model_config = SettingsConfigDict(
        env_prefix="RUGNIK_", env_ignore_empty=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    data_dir: Path = Field(
        default=Path("rugnik-data"), description="Folder of the SQLite database; made when it is missing."
    )
    database_url: Annotated[str, AfterValidator(_usable_url)] | None = Field(
        default=None,
        repr=False,
        description="Such as postgresql+psycopg://user@host/rugnik; without it, SQLite in the data folder.",
    )
    database_password: SecretStr | None = Field(
        default=None, description="The password of the database's user, so that the URL holds none."
    )
    secrets_dir: Path | None = Field(
        default=None,
        description="Folder of files rugnik_database_password, rugnik_admin_key, rugnik_metrics_key and "
        "rugnik_log_key, each with one secret; a variable comes before its file.",
    )
    witness: Path | None = Field(
        default=None,
        description="File that keeps the newest signed checkpoint of the ledger outside the database; without it, "
        "beside the data folder.",
    )
    origin: Annotated[str, AfterValidator(_usable_origin)] | None = Field(
        default=None,
        description="The name of the ledger's log, such as stats.example.org/ledger; fixed at the first start. Without "
        "it, a random one.",
    )
    log_key: SecretStr | None = Field(
        default=None,
        description="The log's key, an Ed25519 key as PKCS#8 PEM; without it, a file beside the witness, made when it "
        "is missing.",
    )
    policy: Path | None = Field(
        default=None,
        description="File that names the outside witnesses and how many of them have to sign (C2SP tlog-policy); "
        "without it, none.",
    )
    checkpoint_seconds: int = Field(
        default=3600,
        ge=0,
        description="A publication shows up in a checkpoint of the log only after the next full period of so many "
        "seconds, or with a later entry; its exact time would tell how long the upload took.",
    )
    witness_grace_hours: float = Field(
        default=24.0, gt=0, description="How long the quorum of witnesses may be silent before /readyz says so."
    )
    public_log: bool = Field(
        default=False, description="Whether anybody may read the log's tiles, which hold hashes alone; else auditors."
    )
    public_docs: bool = Field(
        default=False, description="Whether anybody may read the page /docs; else whoever is signed in."
    )
    read_only: bool = Field(
        default=False,
        description="Published synopses go on answering, and nothing is charged, drawn or published: for an old copy "
        "of the database, which a service refuses otherwise.",
    )
    admin_key: LongSecret | None = Field(
        default=None, description="An admin key of your own; without it, the first start prints one, once."
    )
    metrics_key: LongSecret | None = Field(
        default=None, description="A key that opens /metrics and nothing else; without it, only admin keys do."
    )
    max_budget: Annotated[str, AfterValidator(_decimal_epsilon)] = Field(
        default="20", description="The most epsilon that registration and grants together may give one dataset."
    )
    max_datasets: int = Field(default=1000, ge=1, description="The most datasets that are registered.")
    max_open_orders: int = Field(
        default=100,
        ge=1,
        description="The most orders of one dataset that wait for their rows, and the most requests that wait for a "
        "second person.",
    )
    max_keys: int = Field(default=1000, ge=1, description="The most keys that are not revoked.")
    max_cells: int = Field(
        default=4_000_000,
        ge=1,
        le=2**28,
        description="The most cells of a grid; from four attributes on, a larger one is released with a threshold.",
    )
    max_upload_bytes: int = Field(default=8 * GIB, ge=1, description="The most bytes an upload may have as sent.")
    max_inflated_bytes: int = Field(
        default=32 * GIB, ge=1, description="The most bytes an upload may have once decompressed."
    )
    max_upload_rows: int = Field(default=10**9, ge=1, description="The most rows an upload may have.")
    max_wide_rows: int = Field(
        default=20_000_000,
        ge=1,
        description="The most rows an upload for four or more attributes may have; with offsets, 4 / (4 + d) of them.",
    )
    max_upload_columns: int = Field(default=4096, ge=1, description="The most columns an upload may have.")
    upload_memory_bytes: int = Field(
        default=64 * MIB,
        ge=MIB,
        description="Memory for one upload: its Parquet body and its rows that wait for their grid; beyond it, the "
        "sealed spool.",
    )
    max_spool_bytes: int = Field(
        default=16 * GIB,
        ge=1,
        description="The most bytes of a Parquet body, and of rows that one upload holds sealed on disk.",
    )
    spool_dir: Path | None = Field(
        default=None, description="Folder of the sealed spool; without it, the system's temporary folder."
    )
    max_uploads: int = Field(
        default=2,
        ge=1,
        description="Uploads at work at once in one worker process; one key has at most all but one of these.",
    )
    upload_wait_seconds: float = Field(
        default=5.0, ge=0, description="How long a further upload waits for its turn before it gets 503."
    )
    upload_idle_seconds: float = Field(
        default=30.0, gt=0, description="How long an upload may send nothing before it is ended with 408."
    )
    upload_bytes_per_second: int = Field(
        default=1000,
        ge=0,
        description="The least mean rate of an upload, over as long as it may send nothing; a slower one gets 408.",
    )
    max_connections: int = Field(
        default=800,
        ge=1,
        description="Connections open at once in one worker process; for a further one, the one that has waited "
        "longest for its client is closed.",
    )
    synopsis_memory_bytes: int = Field(
        default=256 * MIB, ge=MIB, description="Memory of one worker for synopses that are asked."
    )
    answer_memory_bytes: int = Field(
        default=64 * MIB, ge=MIB, description="Memory of one worker for answers and the requests that they belong to."
    )
    max_stored_answers: int = Field(
        default=10_000, ge=1, description="Answers kept in the database: those that take long to work out."
    )
    max_answer_seconds: float = Field(
        default=60.0, gt=0, description="The longest that an answer may take, as estimated for one core."
    )
    answer_timeout_seconds: float = Field(
        default=300.0, gt=0, description="How long an answer may really take, from its start on; then it is stopped."
    )
    answer_processes: int = Field(
        default=2,
        ge=1,
        description="Processes of one worker for answers that take long; one key has at most all but one of these. "
        "Half as many more, at least one, are for answers that take up to a quarter of a second.",
    )
    long_answers_per_minute: int = Field(
        default=120,
        ge=1,
        description="The most answers that take long, and are not stored yet, that one key may ask a worker for in a "
        "minute; for more it gets 429.",
    )
    max_synthetic_rows: int = Field(default=10_000_000, ge=1, description="The most synthetic rows in one answer.")
    allowed_hosts: str | None = Field(
        default=None,
        description="Names that the service answers to, with commas between; without it, any. Probes of health may use "
        "any.",
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Addresses or networks, with commas between, whose X-Forwarded-Proto is believed; * for all.",
    )
    session_minutes: int = Field(
        default=720, ge=1, le=525_600, description="How long somebody stays signed in to the dashboard."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="How much is logged: debug, info, warning or error."
    )

    @model_validator(mode="before")
    @classmethod
    def _take_secrets(cls, values: dict[str, Any]) -> dict[str, Any]:
        folder = values.get("secrets_dir")
        return read_secrets(Path(folder), SECRETS) | values if folder else values

    @field_validator("database_password")
    @classmethod
    def _require_one_password(cls, password: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        url = info.data.get("database_url")
        if password is not None and url is not None and parse_database_url(url).password is not None:
            raise ValueError("RUGNIK_DATABASE_URL holds a password as well; leave it out there")
        return password

    @property
    def sqlite_path(self) -> Path:
        """The file of the SQLite database that is used if no URL is set."""
        return self.data_dir / "rugnik.db"

    @property
    def url(self) -> URL:
        """The URL of the database, with the password; str() of it shows no password."""
        if self.database_url is None:
            return URL.create("sqlite", database=str(self.sqlite_path.resolve()))
        url = parse_database_url(self.database_url)
        if self.database_password is None or url.get_backend_name() == "sqlite":
            return url
        return url.set(password=self.database_password.get_secret_value())

    @property
    def witness_path(self) -> Path:
        """The witness file; by default beside the data folder, so that restoring that folder does not restore it."""
        folder = self.data_dir.resolve()
        return self.witness or folder.with_name(folder.name + ".witness")

    @property
    def secret_path(self) -> Path:
        """The file of the service's secret: beside the witness, and so outside of the database."""
        return self.witness_path.with_name(self.witness_path.name + ".key")

    @property
    def log_key_path(self) -> Path:
        """The file of the log's key, where no secret holds it: beside the witness, and so outside of the database."""
        return self.witness_path.with_name(self.witness_path.name + ".log-key")

    @property
    def limits(self) -> Limits:
        """The limits of one upload."""
        return Limits(
            max_bytes=self.max_upload_bytes,
            max_inflated_bytes=self.max_inflated_bytes,
            max_rows=self.max_upload_rows,
            max_wide_rows=self.max_wide_rows,
            max_columns=self.max_upload_columns,
            buffer_bytes=self.upload_memory_bytes,
            spool_bytes=self.max_spool_bytes,
            spool_folder=self.spool_dir,
        )

    @property
    def budget_cap(self) -> Epsilon:
        """`max_budget` as an Epsilon."""
        return Epsilon.parse(self.max_budget)
