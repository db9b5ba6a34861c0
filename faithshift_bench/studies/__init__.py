"""What can be said of the published study: its figures, its hypotheses, its theorem."""
