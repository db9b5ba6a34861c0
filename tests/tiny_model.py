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

    With a ``window``, layers of a Mistral, and every other one of a Gemma, see no further back.
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
    sizes |= _own(architecture, hidden_size // 4, window, len(vocabulary))
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


def _own(architecture: str, head: int, window: int | None, n_tokens: int) -> dict[str, object]:
    """What an architecture has of its own."""
    if architecture == "gpt2":
        return {}
    sizes: dict[str, object] = {"intermediate_size": 48}
    if architecture == "gpt_neox":
        return sizes
    sizes |= {"num_key_value_heads": 2}
    if window is not None:
        sizes |= {"sliding_window": window, "head_dim": head}
    turns = ["sliding_attention", "full_attention"]
    if architecture == "gemma3_text":
        sizes |= {"layer_types": [*turns, *turns, turns[0]]}
    elif architecture == "gemma4_text":
        # The last two layers use the keys of the two before them.
        sizes |= {"layer_types": turns * 2, "num_hidden_layers": 4, "num_kv_shared_layers": 2}
        sizes |= {"global_head_dim": head, "vocab_size_per_layer_input": n_tokens}
        sizes |= {"hidden_size_per_layer_input": 4, "pad_token_id": 0}
    elif architecture == "lfm2":
        sizes |= {"layer_types": ["conv", "full_attention", "conv", "full_attention", "conv"]}
    elif architecture == "deepseek_v32":
        # A token sees three others, which an index chooses.
        sizes |= {"index_topk": 3, "index_head_dim": 8, "index_n_heads": 2, "kv_lora_rank": 8}
        sizes |= {"q_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 6}
        sizes |= {"n_routed_experts": 4, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2}
        sizes |= {"num_key_value_heads": 4, "moe_intermediate_size": 8, "first_k_dense_replace": 1}
        sizes |= {"pad_token_id": 0}
    return sizes
