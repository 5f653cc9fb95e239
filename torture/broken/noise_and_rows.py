"""Lines between a file and its synopsis: how rows are read and bounded, and what noise is added."""

from __future__ import annotations

from torture.broken.mutant import Mutant, Promise

_SAMPLER = "core/mechanisms/discrete_laplace_sampler.py"
_LAW = "core/mechanisms/discrete_laplace.py"
_NOISE_TESTS = ("tests/core/mechanisms/test_discrete_laplace_sampler.py",)

PROMISES = (
    Promise(
        "Noise has exactly the law of the proof, at the rate of its charge and of the unit.",
        (
            Mutant(
                "the scale of the noise times 0.9",
                _LAW,
                "return Fraction(self.nano, NANO * self.rows_per_unit)",
                "return Fraction(self.nano * 10, NANO * self.rows_per_unit * 9)",
                ("tests/statistical/test_law.py",),
            ),
            Mutant(
                "the noise of a person with half its sensitivity",
                "core/charged.py",
                "return DiscreteLaplace.at(epsilon, rows_per_unit=self.unit.max_rows)",
                "return DiscreteLaplace.at(epsilon, rows_per_unit=max(1, self.unit.max_rows // 2))",
                ("tests/statistical/test_person_audit.py",),
            ),
            Mutant(
                "the offsets of a person with the sensitivity of a row",
                "core/mechanisms/vector_laplace.py",
                "sensitivity=rows_per_unit * largest",
                "sensitivity=largest",
                ("tests/core/test_offsets.py", "tests/core/mechanisms/test_vector_laplace.py"),
            ),
        ),
    ),
    Promise(
        "Noise is fresh for every cell, and comes from the operating system.",
        (
            Mutant(
                "noise from floating-point numbers of a generator",
                _SAMPLER,
                "        block[:] = _geometric(len(block), tables, noise)\n"
                "        block -= _geometric(len(block), tables, noise)",
                "        block[:] = np.rint(np.random.laplace(scale=1.0 / law.rate, size=len(block)))",
                _NOISE_TESTS,
            ),
            Mutant(
                "the same noise for every block of cells",
                _SAMPLER,
                "    return draws\n\n\ndef draw_excess",
                "    draws[_BLOCK:] = np.resize(draws[:_BLOCK], max(0, size - _BLOCK))\n"
                "    return draws\n\n\ndef draw_excess",
                _NOISE_TESTS,
            ),
            Mutant(
                "the same noise added and taken away",
                _SAMPLER,
                "        block -= _geometric(len(block), tables, noise)",
                "        block -= block.copy()",
                _NOISE_TESTS,
            ),
        ),
    ),
    Promise(
        "The grid follows from public numbers and from noisy ones.",
        (
            Mutant(
                "the grid from the exact number of rows",
                "core/release.py",
                "    plan = make_plan(order, max_cells=max_cells, noisy_size=bought_size)\n    if plan.is_layered:",
                "    exact = None if bought_size is None else len(rows)\n"
                "    plan = make_plan(order, max_cells=max_cells, noisy_size=exact)\n    if plan.is_layered:",
                ("tests/core/test_release.py",),
            ),
        ),
    ),
    Promise(
        "Everything that is published is noisy: sizes, offsets and empty cells as well.",
        (
            Mutant(
                "a bought size without noise",
                "core/release.py",
                "return size + int(draw_noise(order.size_law, 1, noise)[0])",
                "return size",
                ("tests/core/test_release.py", "tests/statistical/test_law.py"),
            ),
            Mutant(
                "offsets without noise",
                "core/release.py",
                "return Offsets(counts.sums_of(listed) + draw_vectors(law, len(listed), noise), law)",
                "return Offsets(counts.sums_of(listed), law)",
                ("tests/core/test_offsets.py",),
            ),
            Mutant(
                "empty cells that survive a threshold left out",
                "core/mechanisms/survivors.py",
                "    successes = _successes(cell_count, threshold, law, noise)\n",
                "    successes = _successes(0, threshold, law, noise)\n",
                ("tests/statistical/test_survivors.py",),
            ),
        ),
    ),
    Promise(
        "The parts of a release cost together what was charged.",
        (
            Mutant(
                "the histogram bought with all of epsilon, and the size as well",
                "core/charged.py",
                "return self.epsilon - self.size_epsilon - self.offset_epsilon",
                "return self.epsilon - self.offset_epsilon",
                ("tests/core/test_release.py", "tests/core/test_plan.py"),
            ),
            Mutant(
                "leaves of an adaptive release with more than is left on their path",
                "core/adaptive/shares.py",
                "paid = (base, coarse, epsilon - base, epsilon - base - coarse)",
                "paid = (base, coarse, epsilon - base, epsilon - base)",
                ("tests/statistical/test_adaptive_audit.py",),
            ),
        ),
    ),
    Promise(
        "Each row is read by itself.",
        (
            Mutant(
                "lines with quotes read as a whole block",
                "app/ingest/csv_reader.py",
                "special = text.startswith(BOM) or any(byte in text for byte in _SPECIAL)",
                "special = text.startswith(BOM)",
                ("tests/app/ingest/test_csv_reader.py", "tests/app/ingest/test_corpus.py"),
            ),
            Mutant(
                "a number that is infinite counted at its bound",
                "core/domain/number.py",
                "present = np.isfinite(column)",
                "present = ~np.isnan(column)",
                ("tests/core/domain", "tests/core/test_records.py"),
            ),
        ),
    ),
    Promise(
        "At most c rows of a person are counted, chosen by that person's rows alone.",
        (
            Mutant(
                "all rows of a person kept",
                "app/ingest/contributions.py",
                "    return order[place < max_rows]",
                "    return order[place < max(max_rows, 2**62)]",
                ("tests/app/ingest/test_people.py",),
            ),
            Mutant(
                "the first rows of a person kept, by their place in the file",
                "app/ingest/contributions.py",
                "tags(rows.hashes, np.arange(start, end) - begins)",
                "np.arange(start, end, dtype=np.uint64)",
                ("tests/app/ingest/test_people.py",),
            ),
            Mutant(
                "rows bounded for another unit taken in",
                "core/release.py",
                "    if rows.unit != order.unit:",
                "    if rows.unit != order.unit and False:",
                ("tests/core/test_release.py",),
            ),
            Mutant(
                "persons told apart by half of a hash",
                "app/ingest/person_rows.py",
                "    if len(shared):\n",
                "    if len(shared) and False:\n",
                ("tests/app/ingest/test_people.py",),
            ),
        ),
    ),
    Promise(
        "All steps of a release whose rows are counted elsewhere count the same rows.",
        (
            Mutant(
                "steps that another run has begun gone on with unasked",
                "app/engines/sending.py",
                "is_ours = is_continued",
                "is_ours = True",
                ("tests/app/cli/test_counting.py",),
            ),
            Mutant(
                "one order shared by commands with different files",
                "app/cli/resuming.py",
                "dict(wanted), source]",
                "dict(wanted)]",
                ("tests/app/cli/test_resuming.py",),
            ),
        ),
    ),
    Promise(
        "An upload is read to its last row or refused, and what its rows contain does not decide which.",
        (
            Mutant(
                "a file without a good row refused",
                "app/releases/uploading.py",
                "        require_bounded(rows, order)  # before",
                "        if not len(rows):\n            raise DatasetClosed\n"
                "        require_bounded(rows, order)  # before",
                ("tests/app/releases/test_neighbours.py", "tests/app/releases/test_releases.py"),
            ),
            Mutant(
                "an upload cut off at its limit",
                "app/ingest/byte_stream.py",
                "            raise UploadTooLarge(cap, allowed)\n        yield chunk",
                "            return\n        yield chunk",
                ("tests/app/ingest/test_byte_stream.py", "tests/app/ingest/test_upload.py"),
            ),
        ),
    ),
    Promise(
        "Epsilon is a whole number of billionths.",
        (
            Mutant(
                "a tenth decimal of epsilon taken",
                "core/budget.py",
                're.compile(r"([0-9]{1,3})(?:\\.([0-9]{1,9}))?", re.ASCII)',
                're.compile(r"([0-9]{1,3})(?:\\.([0-9]{1,9})[0-9]?)?", re.ASCII)',
                ("tests/core/test_budget.py",),
            ),
        ),
    ),
    Promise(
        "The same question of the same synopsis has the same answer.",
        (
            Mutant(
                "answers that differ from time to time",
                "core/randomness.py",
                "np.random.PCG64(seed)",
                "np.random.PCG64()",
                ("tests/core/test_randomness.py", "tests/core/queries/test_questions.py"),
            ),
        ),
    ),
)
