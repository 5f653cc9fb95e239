"""Prints `clinic-visits.csv`: made-up visits to a clinic, from a public seed. No real person.

Most patients come once or twice, a few come often. Some visits have no cost on record, and some patients gave no sex.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import date, timedelta

SEED = 20_261_118
PATIENTS = 900
WARDS = ("emergency", "surgery", "children", "heart")


def lines(seed: int = SEED) -> Iterator[str]:
    """The lines of the file, header first."""
    draw = random.Random(seed)  # noqa: S311 - public on purpose
    yield "patient,age,sex,arrived,ward,cost"
    visits = []
    for number in range(PATIENTS):
        ward = draw.choice(WARDS)
        age = draw.randint(0, 15) if ward == "children" else min(110, max(16, round(draw.gauss(58, 18))))
        sex = draw.choices(("f", "m", "x", ""), (48, 47, 3, 2))[0]
        often = draw.random() < 0.05
        for _ in range(draw.randint(8, 20) if often else draw.randint(1, 3)):
            day = date(2026, 1, 1) + timedelta(days=min(364, int(draw.betavariate(2, 2) * 365)))
            cost = "" if draw.random() < 0.06 else f"{draw.lognormvariate(6.5, 0.6):.2f}"
            visits.append(f"p{number:04d},{age},{sex},{day},{ward},{cost}")
    draw.shuffle(visits)
    yield from visits


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
