"""Principal components: those of the gridded rows, with bounds that hold, and undetermined where the noise decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.cells import DenseCells
from core.errors import InvalidQuery
from core.queries.components import Components, Matrix, components
from core.synopsis import Synopsis
from tests.core.queries.layered import whole_world
from tests.core.queries.statistical_worlds import four_columns, four_of, middles
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

DRAWS = 60


def by_numpy(synopsis: Synopsis, matrix: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, the largest first, and eigenvectors as rows."""
    points, counts = middles(synopsis)
    about = points - counts @ points / counts.sum()
    covariance = (about.T * counts) @ about / counts.sum()
    scale = np.sqrt(np.diag(covariance)) if matrix is Matrix.CORRELATION else np.ones(len(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return values[::-1], vectors[:, ::-1].T


def asked(synopsis: Synopsis, matrix: Matrix, level: float = 0.95) -> Components:
    return components(synopsis, (), matrix=matrix, level=level, seed=0)


@pytest.mark.parametrize("matrix", Matrix)
def test_without_noise_they_are_those_of_the_gridded_rows(matrix: Matrix) -> None:
    """Compared with an eigenvalue solver on the cells' middles, in own units; the direction does not turn."""
    exact = four_of(four_columns(3000), 6)
    values, vectors = by_numpy(exact, matrix)
    answer = asked(exact, matrix)
    assert [each.variance.value for each in answer.components] == pytest.approx(values)
    assert [each.share.value for each in answer.components] == pytest.approx(values / values.sum())
    for each, vector in zip(answer.components, vectors, strict=True):
        assert abs(np.dot(each.loadings, vector)) == pytest.approx(1.0)
        assert max(each.loadings, key=abs) > 0.0
        assert each.angle is not None
        assert each.angle < 0.2


@pytest.mark.parametrize("matrix", Matrix)
@pytest.mark.parametrize(("cells", "epsilon"), [(6, "1"), (6, "0.2"), (None, "1"), (None, "0.3")])
def test_bounds_cover(matrix: Matrix, cells: int | None, epsilon: str) -> None:
    """Of variances, shares and angles, at strong and weak signal."""
    exact = synopsis_of(rows(600), 10) if cells is None else four_of(four_columns(20_000), cells)
    values, vectors = by_numpy(exact, matrix)
    hits = np.zeros((3, len(values)))
    for seed in range(DRAWS):
        answer = asked(shaken(exact, epsilon, seed), matrix)
        if not answer.components:
            assert answer.warning
            hits += 1
            continue
        for k, each in enumerate(answer.components):
            cosine = min(1.0, abs(float(np.dot(each.loadings, vectors[k]))))
            hits[:, k] += (
                each.variance.interval.low <= values[k] <= each.variance.interval.high,
                each.share.interval.low <= values[k] / values.sum() <= each.share.interval.high,
                each.angle is None or np.degrees(np.arccos(cosine)) <= each.angle,
            )
    assert hits.min() >= least_hits(DRAWS), hits


def test_components_whose_gap_drowns_in_noise_are_undetermined() -> None:
    """Two attributes alike: no direction is better than another. The answer says so."""
    same = np.clip(np.random.default_rng(0).normal([5, 0], 1, (500, 2)), [0, -5], [10, 5])
    answer = asked(shaken(synopsis_of(same, 10), "0.5"), Matrix.COVARIANCE)
    assert [each.angle for each in answer.components] == [None, None]
    assert "Components 1, 2: undetermined" in (answer.warning or "")


def test_a_higher_level_never_narrows_a_bound() -> None:
    """Also beyond what the draws resolve."""
    release = shaken(four_of(four_columns(20_000), 6), "1")
    for k in range(4):
        widths = []
        for level in (5e-324, 0.5, 0.95, 0.999, 0.999999):
            share = asked(release, Matrix.CORRELATION, level).components[k].share.interval
            widths.append(share.high - share.low)
        assert widths == sorted(widths)
        assert widths[3] < widths[4]


def test_the_grid_moves_deviations_by_less_than_it_says() -> None:
    """Compared with the rows themselves."""
    values = four_columns(20_000)
    exact = four_of(values, 10)
    for matrix in Matrix:
        answer = asked(exact, matrix)
        own = np.linalg.eigvalsh(np.corrcoef(values.T) if matrix is Matrix.CORRELATION else np.cov(values.T))[::-1]
        gridded = np.sqrt([each.variance.value for each in answer.components])
        assert np.abs(np.sqrt(own) - gridded).max() <= answer.shift


def test_other_forms_of_release() -> None:
    """Leaves of an adaptive release have bounds; what a threshold leaves has none, and says so."""
    whole = whole_world("three numbers")
    columns = np.stack([whole.values(name) for name in ("x", "y", "z")])
    own = np.linalg.eigvalsh(np.corrcoef(columns))[::-1] / 3
    answer = asked(whole.synopsis, Matrix.CORRELATION)
    assert [each.share.value for each in answer.components] == pytest.approx(own, abs=0.02)
    exact = four_of(four_columns(20_000), 6)
    assert isinstance(exact.cells, DenseCells)
    listed = asked(replace(exact, cells=exact.cells.reaching(5)), Matrix.CORRELATION)
    assert all(each.angle is None for each in listed.components)
    assert "threshold" in (listed.warning or "")
    with pytest.raises(InvalidQuery, match="at least two"):
        components(exact, ("a",), matrix=Matrix.CORRELATION, level=0.95, seed=0)
