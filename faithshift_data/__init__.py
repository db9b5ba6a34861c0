"""What the FaithShift data is: open it, view it, check it, and write one's own."""

from faithshift_data.answers import ExtractedAnswer, extract_answer
from faithshift_data.checks import check
from faithshift_data.dataset import (
    FaithShift,
    embedded,
    load,
    load_interventions,
    load_pairs,
    load_trajectories,
    open,
    path,
)
from faithshift_data.errors import InputError
from faithshift_data.own import write
from faithshift_data.problems import Problem
from faithshift_data.reasoning import SplitReasoning, split_reasoning, split_steps
from faithshift_data.views import InterventionProfile, View

__all__ = [
    "ExtractedAnswer",
    "FaithShift",
    "InputError",
    "InterventionProfile",
    "Problem",
    "SplitReasoning",
    "View",
    "check",
    "embedded",
    "extract_answer",
    "load",
    "load_interventions",
    "load_pairs",
    "load_trajectories",
    "open",
    "path",
    "split_reasoning",
    "split_steps",
    "write",
]
