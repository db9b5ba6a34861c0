"""The builder's command refuses in one line."""

import sys

from builders.__main__ import main


def test_without_torch_it_names_the_extra(monkeypatch, tmp_path, capsys):
    for name in [n for n in sys.modules if n.startswith(("builders.", "faithshift_data.measure."))]:
        if name != "builders.__main__":
            monkeypatch.delitem(sys.modules, name)
    for name in ("torch", "gguf", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["build", "--out", str(tmp_path / "x")]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "faithshift[build]" in err
