"""An open dataset of a few rows, with what the evaluation reads of it."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa

TRACE = ("trace_id", "item_id", "split", "fold", "domain", "label")
PAIR = ("anchor_id", "partner_id", "axis", "kind", "split", "verified", "dropped_because", "mode")
TEXT = pa.string()


class FakeData:
    """Traces and pairs as tuples in the order of TRACE and PAIR; the mode may be left out."""

    def __init__(self, traces, pairs=(), name="tiny"):
        self.path = Path(name)
        self.manifest = SimpleNamespace(
            name=name,
            version="0.0.1",
            draw_seed=0,
            withheld=None,
            files={"traces/test.parquet": SimpleNamespace(sha256="ab")},
        )
        self._tables = {
            "traces": _table(TRACE, traces, label=pa.int8()),
            "pairs": _table(
                PAIR, [(*row, None)[: len(PAIR)] for row in pairs], verified=pa.bool_()
            ),
        }

    def table(self, config, split=None):
        assert split is None
        return self._tables[config]


def _table(names, rows, **types):
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [pa.array(c, types.get(n, TEXT)) for n, c in zip(names, columns, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))
