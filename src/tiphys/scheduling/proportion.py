"""What each queue is due: configured, or by weight.

Where a sibling has a configured ``deserved``, that is what counts, and a queue without one is due
nothing. Otherwise the parent's due is poured over its children by weight, up to what they ask
for (used and waiting), as Volcano's proportion does.
"""

from __future__ import annotations

from tiphys.scheduling.ledger import Account, Ledger
from tiphys.scheduling.volcano.proportion import Claim, pour

Due = dict[str, float]


def entitlements(ledger: Ledger) -> dict[Account, Due]:
    """What each account is due now."""
    whole = {name: float(amount) for name, amount in ledger.capacity.items}
    due: dict[Account, Due] = {ledger.root: whole}
    _share_out(ledger.root, due)
    return due


def _share_out(parent: Account, due: dict[Account, Due]) -> None:
    if not parent.children:
        return
    if any(child.queue.deserved.items for child in parent.children):
        for child in parent.children:
            due[child] = {name: float(amount) for name, amount in child.queue.deserved.items}
    else:
        due.update(_by_weight(parent, due[parent]))
    for child in parent.children:
        _share_out(child, due)


def _by_weight(parent: Account, whole: Due) -> dict[Account, Due]:
    claims = {
        child.queue.name: Claim(
            weight=child.queue.weight,
            request={n: float(a) for n, a in _request(child).items() if n in whole},
            real_capability={n: float(a) for n, a in child.limit.items()},
            guarantee={n: float(a) for n, a in child.guarantee.items()},
        )
        for child in parent.children
    }
    poured, _ = pour(whole, claims)
    return {child: poured[child.queue.name] for child in parent.children}


def _request(account: Account) -> dict[str, int]:
    """What is used and waited for below ``account``."""
    if account.children:
        parts = [_request(child) for child in account.children]
    else:
        parts = [account.used, account.wanted]
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total
