"""A detector whose every figure is known in closed form; it imports nothing that it tests.

The latent score of a trace with label y under detector seed k is

    z = d (2 y - 1) / 2 + shift + sqrt(g) u_trace + sqrt(s) v_(trace, seed),   u, v ~ N(0, 1),

the verdict is z > 0, confidence grows with |z|. A preserving partner has label y and its own u, a
repeat likewise, an altering partner label 1 - y; an edit keeps the u of its anchor.
"""

from dataclasses import dataclass

import numpy as np
from scipy import integrate
from scipy.stats import multivariate_normal, norm


@dataclass(frozen=True)
class Model:
    d: float = 2.0
    g: float = 0.6
    s: float = 0.4

    def draw(self, rng, label, n_seeds, *, shift=0.0, trace=None):
        """z of each seed and trace (S, n)."""
        u = rng.standard_normal(len(label)) if trace is None else trace
        v = rng.standard_normal((n_seeds, len(label)))
        return self.d * (label - 0.5) + shift + np.sqrt(self.g) * u + np.sqrt(self.s) * v

    @property
    def sd(self):
        return np.sqrt(self.g + self.s)

    def score(self, z):
        """P(label 1 | z) at even odds: calibrated, above .5 where z > 0."""
        return 1 / (1 + np.exp(-self.d * z / self.sd**2))

    def confidence(self, z):
        """|2 score - 1|."""
        return np.tanh(self.d * np.abs(z) / self.sd**2 / 2)

    def right(self, shift=0.0):
        """P(the verdict is right): a shift towards the label helps."""
        return norm.cdf((self.d / 2 + shift) / self.sd)

    def ivr(self, shift=0.0):
        """P(the verdict changes) from an anchor to a shifted partner, labels even."""
        p = self.right()
        moved = [self.right(shift), self.right(-shift)]
        return np.mean([p * (1 - q) + (1 - p) * q for q in moved])

    def joint(self):
        """P(a repeat and the partner both differ from their anchor); free of the shift."""
        p = self.right()
        return p * (1 - p)

    def _both(self, low, high, r):
        """P(low <= z1 <= high and the same for z2) for label 1: correlation r, box by box."""
        law = multivariate_normal([self.d / 2] * 2, self.sd**2 * np.array([[1, r], [r, 1]]))
        (a, b), (c, e) = low, high
        return law.cdf([c, e]) - law.cdf([a, e]) - law.cdf([c, b]) + law.cdf([a, b])

    def pairs_at(self, t, r):
        """P(verdicts differ | both |z| >= t), and P(both |z| >= t), at correlation r."""
        far = 50.0
        up, down = (t, far), (-far, -t)
        box = {
            (i, j): self._both((x[0], y[0]), (x[1], y[1]), r)
            for i, x in enumerate((down, up))
            for j, y in enumerate((down, up))
        }
        both = sum(box.values())
        return (box[0, 1] + box[1, 0]) / both, both

    def floor_train(self):
        """P(two seeds disagree on one trace): correlation g / (g + s)."""
        return self.pairs_at(0.0, self.g / (self.g + self.s))[0]

    def wrong_at(self, t):
        """P(committed and wrong)."""
        return norm.cdf((-t - self.d / 2) / self.sd)

    def coverage(self, t):
        return self.wrong_at(t) + norm.sf((t - self.d / 2) / self.sd)

    def risk(self, t):
        return self.wrong_at(t) / self.coverage(t)

    def auroc(self):
        return norm.cdf(self.d / np.sqrt(2) / self.sd)

    def _density(self, t):
        """Density of |z|."""
        return (
            norm.pdf((t - self.d / 2) / self.sd) + norm.pdf((t + self.d / 2) / self.sd)
        ) / self.sd

    def aurc(self):
        return integrate.quad(lambda t: self.risk(t) * self._density(t), 0, 12)[0]

    def augrc(self):
        return integrate.quad(lambda t: self.wrong_at(t) * self._density(t), 0, 12)[0]

    def brier(self):
        def loss(t):
            share = self.score(t)
            return share * (1 - share) * self._density(t)

        return integrate.quad(loss, 0, 12)[0]
