"""Publish a dataset, the metric or a fitted detector on the Hub: one commit, one tag."""
