"""The board: takes submissions, scores them apart, and shows what came of them."""
