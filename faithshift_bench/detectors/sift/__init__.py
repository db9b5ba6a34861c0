"""SIFT: a shift-invariant trajectory detector, its objectives and its trainer."""
