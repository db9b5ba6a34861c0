"""A layer that grows in place says what one that copies says."""

from __future__ import annotations

import torch
from transformers import DynamicLayer

from faithshift_data.measure.caches import ROOM, Roomy


def drawn(n: int, t: int) -> torch.Tensor:
    return torch.randn(n, 2, t, 4)


def test_equal_to_a_layer_that_copies() -> None:
    """Rows leave and tokens come, beyond the room that there is at first."""
    torch.manual_seed(0)
    keys, values = [drawn(2, 5), drawn(1, 5)], [drawn(2, 5), drawn(1, 5)]
    roomy, plain = Roomy(keys, values), DynamicLayer()
    plain.update(torch.cat(keys), torch.cat(values))
    n = 3
    for step in range(2 * ROOM):
        new = drawn(n, 1 + step % 2), drawn(n, 1 + step % 2)
        found, expected = roomy.update(*new), plain.update(*new)
        assert all(map(torch.equal, found, expected))
        if step in (3, ROOM + 3):
            left = torch.tensor([0, 2] if n == 3 else [1])
            roomy.batch_select_indices(left)
            plain.batch_select_indices(left)
            n = len(left)
    assert roomy.get_seq_length() == plain.get_seq_length() == 5 + 3 * ROOM
    assert torch.equal(roomy.keys, plain.keys) and torch.equal(roomy.values, plain.values)


def test_a_token_copies_nothing_as_long_as_there_is_room() -> None:
    roomy = Roomy([drawn(3, 5)], [drawn(3, 5)])
    place = roomy.keys.data_ptr()
    for _ in range(ROOM):
        roomy.update(drawn(3, 1), drawn(3, 1))
        assert roomy.keys.data_ptr() == place
    roomy.update(drawn(3, 1), drawn(3, 1))
    assert roomy.keys.data_ptr() != place


def test_what_it_was_made_from_stays() -> None:
    first = drawn(1, 5)
    before = first.clone()
    roomy = Roomy([first], [first])
    roomy.update(drawn(1, 1), drawn(1, 1))
    roomy.keys.zero_()
    assert torch.equal(first, before)
