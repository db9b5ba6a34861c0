"""A small random model of a known architecture with a byte tokenizer: real, nothing fetched."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


ARCHITECTURES = ("llama", "gpt2", "gpt_neox")


def write_tiny_model(
    folder: Path,
    *,
    seed: int = 0,
    architecture: str = "llama",
    hidden_size: int = 32,
    window: int | None = None,
) -> Path:
    """Save model and tokenizer in the Hugging Face layout.

    With a ``window``, layers of a Mistral, and every other one of a Gemma 3, see no further back.
    An LFM2 sums up what came before in some of its layers.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(["<end>", *letters])}
    merges = [("a", "n"), ("t", "h"), ("Ġ", "t")]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>")
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(seed)
    sizes: dict[str, object] = {
        "hidden_size": hidden_size,
        "num_hidden_layers": 5,
        "num_attention_heads": 4,
        "max_position_embeddings": 512,
    }
    if architecture in ("llama", "mistral", "gemma3_text"):
        sizes |= {"intermediate_size": 48, "num_key_value_heads": 2}
    if architecture == "lfm2":
        sizes |= {"intermediate_size": 48, "num_key_value_heads": 2}
        sizes |= {"layer_types": ["conv", "full_attention", "conv", "full_attention", "conv"]}
    if window is not None:
        sizes |= {"sliding_window": window, "head_dim": hidden_size // 4}
    if architecture == "gemma3_text":
        sizes |= {
            "layer_types": ["sliding_attention", "full_attention"] * 2 + ["sliding_attention"]
        }
    elif architecture == "gpt_neox":
        sizes |= {"intermediate_size": 48}
    config = AutoConfig.for_model(
        architecture,
        vocab_size=len(vocabulary),
        initializer_range=0.4,
        eos_token_id=0,
        bos_token_id=None,
        **sizes,
    )
    model = AutoModelForCausalLM.from_config(config)
    model.generation_config.eos_token_id = 0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
