"""Model organisms: tiny transformers whose faithfulness is known by mechanism, not believed."""
