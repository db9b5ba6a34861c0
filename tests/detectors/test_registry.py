"""Names: near ones suggested, duplicates and impostors refused, plug-ins found."""

from importlib.metadata import EntryPoint

import pytest

from faithshift_bench.detectors import (
    Detector,
    detector_class,
    list_detectors,
    load_detector,
    load_saved,
    registry,
)
from faithshift_data.errors import InputError

GROUP = registry.GROUP


def plug(monkeypatch, *points):
    entries = [EntryPoint(name, value, GROUP) for name, value in points]
    monkeypatch.setattr(registry, "_plugins", lambda: entries)


class MyDetector(Detector):
    """A plug-in."""

    name = "mine"

    def fit(self, view, *, seed):
        return self

    def score(self, view):
        raise NotImplementedError


def test_controls_come_first_and_each_knows_its_name():
    assert list_detectors()[: len(registry.BUILT_IN)] == tuple(registry.BUILT_IN)
    assert list(registry.BUILT_IN)[:5] == list(registry.CONTROLS)
    for name in registry.BUILT_IN:
        found = detector_class(name)
        assert found.name == name
        assert found.__doc__


@pytest.mark.parametrize(("typo", "near"), [("hiden_state", "hidden_state"), ("bias", "biasing")])
def test_near_names_are_suggested(typo, near):
    with pytest.raises(InputError, match=f"expected one of {near}.*got {typo}"):
        load_detector(typo)


def test_an_unknown_parameter_is_refused():
    with pytest.raises(InputError, match="biasing: no such parameter .expected C, vary, got D"):
        load_detector("biasing", D=1)
    with pytest.raises(InputError, match="random: no such parameter .expected no parameters"):
        load_detector("random", C=1)


def test_a_plugin_is_found(monkeypatch):
    plug(monkeypatch, ("mine", f"{__name__}:MyDetector"))
    assert list_detectors()[-1] == "mine"
    assert isinstance(load_detector("mine"), MyDetector)


class Knows(MyDetector):
    """Reads the condition that made a trace."""

    needs = ("text", "true_environments")


class Says(Knows):
    """And says so."""

    reads_label_evidence = True


def test_who_needs_the_true_environments_has_to_be_marked(monkeypatch, tmp_path):
    plug(monkeypatch, ("mine", f"{__name__}:Knows"))
    refused = "mine: unmarked .expected reads_label_evidence = True, for it needs true_environments"
    folder = Knows().save(tmp_path)
    for make in (
        lambda: load_detector("mine"),
        lambda: load_detector("ensemble", of="mine+biasing"),
        lambda: load_saved(folder),
    ):
        with pytest.raises(InputError, match=refused):
            make()
    plug(monkeypatch, ("mine", f"{__name__}:Says"))
    assert load_detector("ensemble", of="mine+constant").reads_label_evidence
    assert load_saved(folder).reads_label_evidence


def test_two_detectors_of_one_name_are_refused(monkeypatch):
    plug(monkeypatch, ("random", f"{__name__}:MyDetector"))
    with pytest.raises(InputError, match="two detectors of one name"):
        list_detectors()
    plug(monkeypatch, ("mine", f"{__name__}:MyDetector"), ("mine", "elsewhere:Other"))
    with pytest.raises(InputError, match="two detectors of one name"):
        load_detector("mine")


@pytest.mark.parametrize("value", ["no_such_module:X", f"{__name__}:Absent"])
def test_a_plugin_that_cannot_be_imported_is_one_line(monkeypatch, value):
    plug(monkeypatch, ("mine", value))
    with pytest.raises(InputError, match="cannot be imported"):
        load_detector("mine")


@pytest.mark.parametrize("value", [f"{__name__}:MyDetector", f"{__name__}:plug"])
def test_a_plugin_that_is_no_detector_of_that_name_is_refused(monkeypatch, value):
    plug(monkeypatch, ("yours", value))
    with pytest.raises(InputError, match="not a detector"):
        load_detector("yours")
