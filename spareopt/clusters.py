"""A Dask cluster by its address: connected, checked to run the same versions, let go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spareopt.errors import Fault, InputError
from spareopt.plan import versions

CONNECT = 10.0
"""s in which a cluster must answer, and have a worker."""


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """A client of the Dask cluster at an address such as tcp://10.0.0.1:8786.

    Raises InputError where Dask is not installed, nothing answers there, there are no workers, or they run other
    versions than this process: results would depend on where they were made.
    """
    try:
        from distributed import Client  # noqa: PLC0415
        from distributed.comm.addressing import get_address_host_port, parse_address  # noqa: PLC0415
    except ImportError:
        raise _refused(address, 'needs Dask: pip install "spareopt[dask]", here and on the workers') from None
    try:  # a client of a malformed address is never whole, and complains when it goes
        if parse_address(address)[0] != "inproc":
            get_address_host_port(address)
    except ValueError as error:
        message = f"expected the address of a Dask scheduler such as tcp://10.0.0.1:8786 ({error})"
        raise _refused(address or "''", message) from None
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        raise _refused(address, f"no Dask scheduler answers there ({str(error) or 'timeout'}); start one") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError:
            raise _refused(address, f"the cluster has no workers; start one: dask worker {address}") from None
        ours = versions()
        for worker, theirs in client.run(_versions, on_error="return").items():
            if isinstance(theirs, Exception):
                raise _refused(address, f"worker {worker} can't load spareopt ({theirs}); install the same one there")
            different = [
                f"{name} {theirs.get(name)} instead of {ours[name]}" for name in ours if theirs.get(name) != ours[name]
            ]
            if different:
                raise _refused(address, f"worker {worker} has {', '.join(different)}; install the same versions there")
        yield client


def _versions() -> dict[str, str]:
    return versions()


def _refused(address: str, message: str) -> InputError:
    return InputError("--dask", [Fault(address, message)])
