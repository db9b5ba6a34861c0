"""What moved a score: contributions of a detector's inputs that add up to it."""
