"""Run a model on traces: completions, interventions, trajectories. Heavy parts load lazily."""
