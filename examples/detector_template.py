"""A whole detector of your own, to copy: how often each step speaks of the hint, or calculates.

    python examples/detector_template.py [DATA]

fits it, scores validation and test, and prints the report. As a plug-in it is known to every
command by its name: see `faithshift-plugin-example` beside this file.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors import Detector
from faithshift_bench.detectors.base import labelled
from faithshift_bench.detectors.linear import sigmoid, standardise, standardiser
from faithshift_bench.explain.inputs import Differentiable, Feature, linear
from faithshift_bench.options import check_number

if TYPE_CHECKING:
    from faithshift_data import View

WORDS = {
    "hint": re.compile(r"\b(hint|suggest\w*|professor|told|given)\b", re.IGNORECASE),
    "reason": re.compile(r"\b(because|so|therefore|thus|hence)\b", re.IGNORECASE),
    "number": re.compile(r"\d+"),
    "doubt": re.compile(r"\b(but|however|wait|maybe|perhaps)\b", re.IGNORECASE),
}
PATIENCE = 20


class StepWords(Detector):
    """Logistic regression on words a step, trained by gradient descent.

    Args:
        rate: step of the descent, over 0.
        epochs: at most; the one with the least loss on the tune fold is kept.
    """

    name = "step_words"  # the name of the entry point, too
    revision = "1"  # raise it when the same data would give other scores
    needs = ("text",)  # and, or: interventions, descriptors, states
    reads_label_evidence = True  # it reads stated hints; so with probes, and with hints followed

    def __init__(self, rate: float = 0.5, epochs: int = 200) -> None:
        """Parameters, `--param rate=0.1`; what is chosen and learned goes into `params`."""
        super().__init__()
        check_number("rate", rate, above=0, most=100)
        check_number("epochs", epochs, above=0, most=10_000, whole=True)
        self.params.update(rate=rate, epochs=epochs)

    def features(self, view: View) -> NDArray[np.float64]:
        """How often each of WORDS occurs a step, (n, 4)."""
        return np.array(
            [
                [len(word.findall(row["reasoning"] or "")) / max(len(row["steps"]), 1)
                 for word in WORDS.values()]
                for row in view.text
            ],
            dtype=np.float64,
        ).reshape(-1, len(WORDS))  # fmt: skip

    def fit(self, view: View, *, seed: int, tune: View | None = None) -> Self:
        """Learn on train, stop early on tune; rows of unknown label are left out."""
        rows, labels = labelled(view)
        x = self.features(view)[rows]
        self.arrays = standardiser(x)  # safetensors keeps `arrays`, JSON keeps `params`
        x = standardise(x, self.arrays)
        judge = (x, labels)
        if tune is not None and (tune.labels >= 0).any():
            rows, known = labelled(tune, both=False)
            judge = standardise(self.features(tune)[rows], self.arrays), known
        rng = np.random.default_rng(seed)  # all that is random comes from the seed
        weight, bias = rng.normal(0, 0.01, size=x.shape[1]), 0.0
        curves: dict[str, list[float]] = {"loss": [], "tune_loss": []}
        kept = 0
        for epoch in range(1, self.params["epochs"] + 1):
            wrong = sigmoid(x @ weight + bias) - labels
            weight = weight - self.params["rate"] * (wrong @ x) / len(x)
            bias -= self.params["rate"] * float(wrong.mean())
            for name, (rows_x, rows_y) in {"loss": (x, labels), "tune_loss": judge}.items():
                p = np.where(rows_y == 1, 1, -1) * (rows_x @ weight + bias)
                curves[name].append(float(np.logaddexp(0, -p).mean()))
            self.progress(epoch, self.params["epochs"], {n: c[-1] for n, c in curves.items()})
            if kept == 0 or curves["tune_loss"][-1] < curves["tune_loss"][kept - 1]:
                kept = epoch
                self.arrays.update(weight=weight, bias=np.array([bias]))
            elif epoch - kept >= PATIENCE:
                break
        self.training = {  # shown when done, kept in detector.json and with the scores
            "epoch": kept,
            "epochs": epoch,
            "of": self.params["epochs"],
            "chosen_by": "tune_loss",
            "better": "lower",
            "curves": curves,
        }
        return self

    def score(self, view: View) -> NDArray[np.float64]:
        """Probability that each trace is faithful, in [0, 1]; higher is more faithful."""
        self.need_fitted("weight" in self.arrays)
        x = standardise(self.features(view), self.arrays)
        return sigmoid(x @ self.arrays["weight"] + self.arrays["bias"])

    def differentiable(self, view: View) -> Differentiable:
        """Optional: what `faithshift explain` takes the score of one trace apart by."""
        x = standardise(self.features(view), self.arrays)[0]
        names = [Feature("words", name) for name in WORDS]
        value = linear(self.arrays["weight"], float(self.arrays["bias"][0]))
        return Differentiable(x, np.zeros_like(x), names, value)


def main(name: str = "mini") -> None:
    """Fit on train, score what a scores file holds, evaluate."""
    import faithshift_bench as fb
    import faithshift_data as fd

    data = fd.open(name)
    detector = StepWords().fit(data.view("train"), seed=0, tune=data.view("validation", "tune"))
    views = [data.view(split) for split in ("validation", "test")]
    scores = {
        "trace_id": np.concatenate([view.trace_ids for view in views]).tolist(),
        "score": np.concatenate([detector.score(view) for view in views]).tolist(),
    }
    print(fb.evaluate_scores(scores, data, name=detector.name).to_markdown())


if __name__ == "__main__":
    main(*sys.argv[1:2])
