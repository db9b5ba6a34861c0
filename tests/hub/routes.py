"""The Hub's endpoints that the clients use, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.hub import reading, writing
from tests.hub.messages import Answer, Request
from tests.hub.store import Store

_NAME = r"(?P<id>[^/]+/[^/]+?)"
_API = rf"/api/(?P<kinds>models|datasets|spaces)/{_NAME}"
_FILES = rf"/(?:(?P<kinds>datasets|spaces)/)?{_NAME}"
_REV = r"(?P<rev>[^/]+)"
Route = Callable[[Store, Request], Answer]
ROUTES: dict[str, tuple[str, str, Route]] = {
    "whoami": ("GET", r"/api/whoami-v2", reading.whoami),
    "create": ("POST", r"/api/repos/create", writing.create),
    "delete": ("DELETE", r"/api/repos/delete", writing.delete),
    "validate-yaml": ("POST", r"/api/validate-yaml", writing.validate_yaml),
    "preupload": ("POST", rf"{_API}/preupload/{_REV}", writing.preupload),
    "batch": ("POST", rf"{_FILES}\.git/info/lfs/objects/batch", writing.batch),
    "upload": ("PUT", r"/_lfs/(?P<oid>[0-9a-f]{64})", writing.upload),
    "verify": ("POST", r"/_lfs/verify", writing.verify),
    "commit": ("POST", rf"{_API}/commit/{_REV}", writing.commit),
    "info": ("GET", rf"{_API}(?:/revision/{_REV})?", reading.info),
    "tree": ("GET", rf"{_API}/tree/{_REV}(?:/(?P<path>.+))?", reading.tree),
    "paths-info": ("POST", rf"{_API}/paths-info/{_REV}", reading.paths_info),
    "refs": ("GET", rf"{_API}/refs", reading.refs),
    "discussions": ("GET", rf"{_API}/discussions", reading.discussions),
    "tag": ("POST", rf"{_API}/tag/{_REV}", writing.tag),
    "branch": ("POST", rf"{_API}/branch/{_REV}", writing.branch),
    "head": ("HEAD", rf"{_FILES}/resolve/{_REV}/(?P<path>.+)", reading.resolve),
    "resolve": ("GET", rf"{_FILES}/resolve/{_REV}/(?P<path>.+)", reading.resolve),
}


def find_route(method: str, path: str) -> tuple[str, Mapping[str, str]] | None:
    """The name of a route and the parts of the path; None: there is no such endpoint."""
    for name, (wanted, pattern, _) in ROUTES.items():
        match = re.fullmatch(pattern, path) if method == wanted else None
        if match:
            return name, {key: value for key, value in match.groupdict().items() if value}
    return None
