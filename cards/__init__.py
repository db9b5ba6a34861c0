"""Cards: README.md of a dataset, the metric and a detector, rendered and never typed."""

from cards.dataset import dataset_card
from cards.detector import detector_card
from cards.metric import metric_card

__all__ = ["dataset_card", "detector_card", "metric_card"]
