"""Certified selective risk: losses -> bounds -> multiplicity -> certificate."""

from faithshift_bench.risk.certificate import Certificate, certify

__all__ = ["Certificate", "certify"]
