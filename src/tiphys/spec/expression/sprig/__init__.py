"""sprig v3.3.0 for expressions: ``sprig.trunc(3, x)``.

Left out, with a clear error: what reaches the machine (``env``, ``expandenv``,
``getHostByName``), and cryptography that would need a heavy library (``OMITTED``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tiphys.spec.expression import semver
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.sprig import argument
from tiphys.spec.expression.sprig.data import DATA
from tiphys.spec.expression.sprig.number import NUMBER
from tiphys.spec.expression.sprig.text import TEXT
from tiphys.spec.expression.sprig.world import DATE, WORLD
from tiphys.spec.expression.value import Function, Value

OMITTED: Final = frozenset(
    [
        "getHostByName",
        "bcrypt",
        "htpasswd",
        "genPrivateKey",
        "derivePassword",
        "buildCustomCert",
        "genCA",
        "genCAWithKey",
        "genSelfSignedCert",
        "genSelfSignedCertWithKey",
        "genSignedCert",
        "genSignedCertWithKey",
        "encryptAES",
        "decryptAES",
    ]
)


def _omitted(name: str) -> Callable[..., Value]:
    def refuse(*_: Value) -> Value:
        raise Fault(f"sprig.{name} is not available in Tiphys")

    return refuse


_VERSIONS: dict[str, Callable[..., Value]] = {
    "semver": lambda source: semver.parse(argument.text(source)),
    "semverCompare": lambda constraint, version: semver.satisfies(
        argument.text(constraint), argument.text(version)
    ),
}
SPRIG: Final[dict[str, Value]] = {
    **{
        name: Function(name, call)
        for table in (TEXT, DATA, NUMBER, DATE, _VERSIONS)
        for name, call in table.items()
    },
    **{name: Function(name, call, needs_host=True) for name, call in WORLD.items()},
    **{name: Function(name, _omitted(name)) for name in OMITTED},
}
