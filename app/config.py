"""Settings: every RUGNIK_… variable typed, defaulted and described. README lists them all; a test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.ingest.limits import Limits
from core.budget import Epsilon
from core.errors import InvalidEpsilon

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


LongSecret = Annotated[SecretStr, AfterValidator(_long_enough)]


class Settings(BaseSettings):
    """How one rugnik runs. An argument of `create_app`; nothing reads the environment behind its back."""

    model_config = SettingsConfigDict(env_prefix="RUGNIK_", env_ignore_empty=True, frozen=True, extra="ignore")

    data_dir: Path = Field(
        default=Path("rugnik-data"), description="Folder of the SQLite database; made when it is missing."
    )
    database_url: str | None = Field(
        default=None,
        description="Such as postgresql+psycopg://user@host/rugnik; without it, SQLite in the data folder.",
    )
    witness: Path | None = Field(
        default=None,
        description="File that keeps the newest ledger head outside the database; without it, beside the data folder.",
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
        default=20_000_000, ge=1, description="The most rows an upload for four or more attributes may have."
    )
    max_upload_columns: int = Field(default=4096, ge=1, description="The most columns an upload may have.")
    upload_memory_bytes: int = Field(
        default=64 * MIB,
        ge=MIB,
        description="Memory for the rows of one upload that wait for their grid; beyond it, the sealed spool.",
    )
    max_spool_bytes: int = Field(
        default=16 * GIB, ge=1, description="The most bytes one upload may hold sealed on disk."
    )
    spool_dir: Path | None = Field(
        default=None, description="Folder of the sealed spool; without it, the system's temporary folder."
    )
    max_uploads: int = Field(default=2, ge=1, description="Uploads at work at once in one worker process.")
    upload_wait_seconds: float = Field(
        default=5.0, ge=0, description="How long a further upload waits for its turn before it gets 503."
    )
    synopsis_memory_bytes: int = Field(
        default=256 * MIB, ge=MIB, description="Memory of one worker for synopses that are asked."
    )
    answer_memory_bytes: int = Field(default=64 * MIB, ge=MIB, description="Memory of one worker for answers.")
    max_stored_answers: int = Field(
        default=10_000, ge=1, description="Answers kept in the database: those that take long to work out."
    )
    max_synthetic_rows: int = Field(default=10_000_000, ge=1, description="The most synthetic rows in one answer.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="How much is logged: debug, info, warning or error."
    )

    @property
    def sqlite_path(self) -> Path:
        """Where the SQLite database lies when no URL is set."""
        return self.data_dir / "rugnik.db"

    @property
    def url(self) -> str:
        """The database that is used."""
        return self.database_url or f"sqlite:///{self.sqlite_path.resolve()}"

    @property
    def witness_path(self) -> Path:
        """The witness file that is used: beside the data folder, not in it, so that restoring one keeps the other."""
        folder = self.data_dir.resolve()
        return self.witness or folder.with_name(folder.name + ".witness")

    @property
    def limits(self) -> Limits:
        """How much of the machine one upload may take."""
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
