"""Certified selective risk: losses -> bounds -> multiplicity -> certificate.

:func:`list_certificates` lists every way to certify. :class:`AnytimeCertificate` is for streams,
:func:`tally`, :func:`merge` and :func:`conclude` are for shards. :func:`sgr` guarantees nothing.
"""

from faithshift_bench.risk.anytime import AnytimeCertificate
from faithshift_bench.risk.certificate import Certificate, certify
from faithshift_bench.risk.mergeable import conclude, merge, tally
from faithshift_bench.risk.plan import Plan, list_certificates
from faithshift_bench.risk.sgr import SgrThreshold, sgr

__all__ = [
    "AnytimeCertificate",
    "Certificate",
    "Plan",
    "SgrThreshold",
    "certify",
    "conclude",
    "list_certificates",
    "merge",
    "sgr",
    "tally",
]
