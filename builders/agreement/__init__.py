"""The run behind a comparison of faithfulness metrics: what each model is asked, and its answers.

``faithshift agree`` reads what it writes.
"""
