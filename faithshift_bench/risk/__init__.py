"""Certified selective risk: losses -> bounds -> multiplicity -> certificate.

:func:`list_certificates` lists every way to certify; :mod:`.sgr` has none of their guarantees.
"""

from faithshift_bench.risk.certificate import Certificate, certify
from faithshift_bench.risk.plan import Plan, list_certificates
from faithshift_bench.risk.sgr import SgrThreshold, sgr

__all__ = ["Certificate", "Plan", "SgrThreshold", "certify", "list_certificates", "sgr"]
