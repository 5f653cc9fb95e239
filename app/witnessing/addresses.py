"""Where witnesses are reached: which addresses of a policy may be used, and whether a quorum can be reached by them."""

from __future__ import annotations

from ipaddress import ip_address

import httpx

from core.log.policy import InvalidPolicy, Policy, Witness


def submission_address(witness: Witness) -> str | None:
    """The address of a witness's add-checkpoint; None where the policy has no URL for it.

    InvalidPolicy for an address that must not be used: a checkpoint goes over https, or to this machine.
    """
    if witness.url is None:
        return None
    try:
        url = httpx.URL(witness.url)
    except (httpx.InvalidURL, UnicodeError):
        raise InvalidPolicy(f"The address of the witness {witness.name} is not a URL.") from None
    if not url.host or "%" in url.host or url.userinfo or url.query or url.fragment:
        raise InvalidPolicy(f"The address of the witness {witness.name} is a host and a path, and nothing more.")
    if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.host)):
        raise InvalidPolicy(
            f"The address of the witness {witness.name} begins with https://, or with http:// on this machine."
        )
    return f"{str(url).rstrip('/')}/add-checkpoint"


def require_reachable(policy: Policy) -> None:
    """InvalidPolicy where an address must not be used, or where witnesses without an address keep it from a quorum."""
    reached = [name for name, witness in policy.witnesses.items() if submission_address(witness) is not None]
    if not policy.is_met(reached):
        raise InvalidPolicy("The witnesses of the policy that have an address do not make up its quorum.")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: localhost, or an address of the loopback interface."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
