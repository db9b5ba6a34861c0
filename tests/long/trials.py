"""What is tried on the populations: every certificate, and ways of certifying that do not hold.

``python -m tests.long.trials 2000`` prints the tables, from that many repeats.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy import stats

from faithshift_bench.risk import AnytimeCertificate, Plan, certify, list_certificates, sgr
from tests.long.populations import ALPHA, NULLS, informative

DELTA = 0.05
ITEMS, TUNE_ITEMS = 60, 30
CALIB_SIZES = (40, 56, 60, 75, 120)
SHOWN = (
    "one_per_item/exact/bonferroni",
    "one_per_item/exact/holm",
    "one_per_item/exact/fixed_sequence",
    "clustered/betting/fixed_sequence",
    "clustered/betting-mixture/fixed_sequence",
    "clustered/betting-agrapa/fixed_sequence",
)
GRID = [k / 20 for k in range(20)]


def options_of(option, tune):
    """Arguments of an option of list_certificates; its grid goes with its multiplicity."""
    grid = "q5" if option.multiplicity == "fixed_sequence" else "k/20"
    return {"unit": option.unit, "bound": option.bound, "multiplicity": option.multiplicity,
            "thresholds": grid, "tune": tune}  # fmt: skip


def certified(option, calib, tune):
    """Thresholds that certify certifies."""
    found = certify(calib[0], calib[1], groups=calib[2], **options_of(option, tune))
    return [c.threshold for c in found.scan if c.certified]


def decided(option, calib, tune):
    """The same decision without its report, which takes most of the time."""
    plan = Plan.of(**options_of(option, tune))
    chosen = plan.procedure(np.unique(calib[2]))
    return plan.grid[chosen.passed(plan.losses(*calib))[0]].tolist()


def searched(unit, bound, calib, tune):
    found = sgr(calib[0], calib[1], groups=calib[2], unit=unit, bound=bound)
    return [] if found.threshold is None else [found.threshold]


def drawn_among_selected(calib, tune):
    """Broken: at each threshold one row is drawn among those selected, then counted exactly."""
    conf, errors, groups = calib
    rng, certified = np.random.default_rng(0), []
    for t in GRID:
        kept = np.flatnonzero(conf >= t - 1e-12)
        shuffled = rng.permutation(kept)
        _, first = np.unique(groups[shuffled], return_index=True)
        wrong = errors[shuffled[first]]
        if len(wrong) and stats.binom.cdf(wrong.sum(), len(wrong), ALPHA) <= DELTA / len(GRID):
            certified.append(t)
    return certified


def observed_rate(calib, tune):
    """Broken on purpose: the observed rate of one row an item, taken for a bound."""
    conf, errors, _ = (column[:: len(calib[0]) // ITEMS] for column in calib)
    kept = [errors[conf >= t - 1e-12] for t in GRID]
    return [t for t, e in zip(GRID, kept, strict=True) if len(e) and e.mean() <= ALPHA]


OPTIONS = list_certificates()
VALID = {o.name: partial(certified, o) for o in OPTIONS if o.holds}
INVALID = {
    **{o.name: partial(certified, o) for o in OPTIONS if not o.holds},
    **{f"sgr {u}/{b}": partial(searched, u, b)
       for u, b in (("iid", "exact"), ("iid", "normal"), ("one_per_item", "exact"))},
    "drawn among selected/exact/bonferroni": drawn_among_selected,
    "observed rate": observed_rate,
}  # fmt: skip
QUICK = VALID | INVALID | {o.name: partial(decided, o) for o in OPTIONS}


def wrong_certificates(population, trials, repeats, seed=0):
    """Repeats in which a threshold of risk alpha or more was certified: name -> count."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(trials, 0)
    for _ in range(repeats):
        calib = population.draw(rng, ITEMS)
        tune = population.draw(rng, TUNE_ITEMS, prefix="tune")
        for name, trial in trials.items():
            counts[name] += any(population.is_wrong(t) for t in trial(calib, tune))
    return counts


def wrong_at_any_look(population, repeats, seed=0, items=80):
    """Repeats in which a stream ever certified a threshold of risk alpha or more.

    One stream has twenty thresholds, the other threshold 0 alone.
    """
    rng = np.random.default_rng(seed)
    counts = {"anytime, K = 20": 0, "anytime, K = 1": 0}
    for _ in range(repeats):
        conf, errors, _ = (c.reshape(items, -1) for c in population.draw(rng, items))
        for name, grid in zip(counts, (GRID, [0]), strict=True):
            stream = AnytimeCertificate(thresholds=grid)
            for k in range(items):
                look = stream.add(str(k), conf[k], errors[k])
            at = zip(grid, look.certified_at, strict=True)
            counts[name] += any(k is not None and population.is_wrong(t) for t, k in at)
    return counts


def wrong_when_peeking(population, repeats, seed=0, items=80):
    """Broken: an exact bound at threshold 0, on one row an item, looked at after every item."""
    rng = np.random.default_rng(seed)
    sizes, count = np.arange(1, items + 1), 0
    for _ in range(repeats):
        errors = population.draw(rng, items)[1].reshape(items, -1)[:, 0]
        count += bool((stats.binom.cdf(errors.cumsum(), sizes, ALPHA) <= DELTA).any())
    return {"exact at every look": count}


def power(population, items, repeats, names, seed=0):
    """Share of repeats that certify, and mean coverage with 0 where none does: name -> pair."""
    rng = np.random.default_rng(seed)
    found = {name: [] for name in names}
    for _ in range(repeats):
        calib = population.draw(rng, items)
        tune = population.draw(rng, TUNE_ITEMS, prefix="tune")
        for name in names:
            thresholds = QUICK[name](calib, tune)
            found[name].append((calib[0] >= min(thresholds) - 1e-12).mean() if thresholds else 0.0)
    return {name: (np.mean(np.array(v) > 0), np.mean(v)) for name, v in found.items()}


def fails(wrong, repeats, delta=DELTA):
    """The verdict of the test: so many wrong certificates have probability under 1e-4 at delta."""
    return stats.binom.sf(wrong - 1, repeats, delta) < 1e-4


def interval(wrong, repeats):
    found = stats.binomtest(wrong, repeats).proportion_ci(0.95)
    return f"{wrong / repeats:.3f} [{found.low:.3f}, {found.high:.3f}]"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def main(repeats, workers=2):
    with ProcessPoolExecutor(workers) as pool:
        nulls = [
            pool.submit(wrong_certificates, p, QUICK, repeats, seed) for seed, p in enumerate(NULLS)
        ]
        looks = [
            pool.submit(look, p, repeats, seed)
            for seed, p in enumerate(NULLS)
            for look in (wrong_at_any_look, wrong_when_peeking)
        ]
        powers = {
            (e, n): pool.submit(power, informative(e), n, repeats // 4, SHOWN, n)
            for e in (0.15, 0.2)
            for n in CALIB_SIZES
        }
        counts = [
            {name: n for future in three for name, n in future.result().items()}
            for three in zip(nulls, looks[::2], looks[1::2], strict=True)
        ]
        found = {key: future.result() for key, future in powers.items()}
    print(f"Wrong certificates at delta {DELTA:g}: share of {repeats} repeats [95 % interval].")
    print(f"Grid q5 with fixed_sequence, else k/20; {ITEMS} items of 20 rows, alpha {ALPHA:g}.\n")
    rows = [
        [
            name,
            *(interval(c[name], repeats) for c in counts),
            max(c[name] for c in counts) / repeats,
        ]
        for name in counts[0]
    ]
    print(table(["certificate", *(p.name for p in NULLS), "worst"], rows))
    print(f"Power: share of {repeats // 4} repeats that certify (mean coverage).\n")
    rows = [
        [f"{n}, {e:g}", *(f"{a:.2f} ({b:.2f})" for a, b in values.values())]
        for (e, n), values in found.items()
    ]
    print(table(["calib items, error", *SHOWN], rows))


if __name__ == "__main__":
    main(int(sys.argv[1]))
