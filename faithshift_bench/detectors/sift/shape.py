"""What a SIFT network looks like: its parts, their sizes, and the rows of the ablation tables."""

from __future__ import annotations

from dataclasses import dataclass

from faithshift_bench.options import check_choice, check_flag, check_number
from faithshift_data.errors import InputError
from faithshift_data.measure.descriptors import CHANNELS, FAMILIES

KERNELS = (3, 5, 7, 11)
STATIC = ("bands", "scalars")
NONE = "none"
# S table 26 calls velocity and drift, by band, the hand-crafted features.
BAND_MEANS = tuple(c for c in CHANNELS if c.startswith(("velocity.", "drift.")) and "mean" in c)


def _check_joined(name: str, value: object, known: tuple[str, ...]) -> None:
    parts = value.split("+") if isinstance(value, str) else []
    if not parts or not set(parts) <= set(known) or len(set(parts)) < len(parts):
        expected = f"some of {', '.join(known)} joined by +"
        raise InputError("bad parameter", field=name, expected=expected, got=value)


@dataclass(frozen=True)
class Shape:
    """The parts of a network and their sizes.

    Attributes:
        families: channels that are read, of ``velocity``, ``drift``, ``lens`` and ``stability``,
            joined by ``+``.
        static: numbers a trace that are appended to the pooled vector: ``scalars`` (when the model
            came to its answer; left out where the data has none), ``bands`` (means over time of
            velocity and drift by band), both joined by ``+``, or ``none``.
        learned: false: no encoder, the static numbers alone go into the last two layers.
        tcn: convolutions over time; false: a linear map of each step.
        transformer: attention over the steps; false: none.
        pooling: ``learned`` (S eqs. 22-23) or ``mean``.
        filters: channels of each of the four convolutions.
        dim: width of a step and of the pooled vector, 8 to 256, a multiple of ``heads``.
        layers: of the transformer.
        heads: of each layer.
        hidden: units of the layer before the score.
        dropout: share of units that are dropped in training, in [0, 0.9].
    """

    families: str = "+".join(FAMILIES)
    static: str = "scalars"
    learned: bool = True
    tcn: bool = True
    transformer: bool = True
    pooling: str = "learned"
    filters: int = 64
    dim: int = 128
    layers: int = 4
    heads: int = 8
    hidden: int = 128
    dropout: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for name in ("learned", "tcn", "transformer"):
            check_flag(name, getattr(self, name))
        _check_joined("families", self.families, FAMILIES)
        if self.static != NONE:
            _check_joined("static", self.static, STATIC)
        elif not self.learned:
            expected = "bands, scalars or bands+scalars where nothing is learned"
            raise InputError("bad parameter", field="static", expected=expected, got=NONE)
        check_choice("pooling", self.pooling, ("learned", "mean"))
        for name, most in (("filters", 1024), ("layers", 64), ("heads", 64), ("hidden", 4096)):
            check_number(name, getattr(self, name), above=0, most=most, whole=True)
        check_number("dim", self.dim, least=8, most=256, whole=True)
        check_number("dropout", self.dropout, least=0, most=0.9)
        if self.dim % self.heads:
            expected = f"a multiple of heads, {self.heads}"
            raise InputError("bad parameter", field="dim", expected=expected, got=self.dim)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels that are read, in their stored order."""
        families = self.families.split("+")
        return tuple(name for name in CHANNELS if name.split(".")[0] in families)


FULL = Shape()
# Fits into the 28.4 thousand parameters that S's table 14 prints.
SMALL = Shape(filters=8, dim=32, layers=2, heads=4, hidden=32)

# Parameters of a SIFT detector for each row of S's ablations, by table and row. The row of table 26
# that averages raw states is the detector `hidden_state`.
ABLATIONS: dict[str, dict[str, dict[str, str | bool | int]]] = {
    "T4": {
        "Full SIFT": {},
        "w/o TCN": {"tcn": False},
        "w/o Transformer": {"transformer": False},
        "w/o IRM": {"objective": "dann"},
        "w/o DANN": {"objective": "irm"},
        "w/o Attention Stability": {"families": "velocity+drift+lens"},
        "w/o Early-Commitment": {"families": "velocity+drift+stability", "static": NONE},
    },
    "T25": {
        "Mean pooling": {"tcn": False, "transformer": False, "pooling": "mean"},
        "TCN": {"transformer": False},
        "Transformer": {"tcn": False},
        "TCN and Transformer": {},
        "Mean pooling, no invariance": {
            "tcn": False,
            "transformer": False,
            "pooling": "mean",
            "objective": "erm",
        },
    },
    "T26": {
        "Hand-crafted": {"learned": False, "static": "bands"},
        "Hand-crafted + early-commitment": {"learned": False, "static": "bands+scalars"},
        "TCN-learned": {"transformer": False, "static": NONE},
        "TCN + hand-crafted": {"transformer": False, "static": "bands+scalars"},
    },
    "Q2": {f"d = {dim}": {"dim": dim} for dim in (8, 16, 32, 64, 128, 256)},
}
