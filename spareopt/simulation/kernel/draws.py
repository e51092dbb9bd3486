"""The random numbers and laws of ``spareopt.simulation.laws``, compiled."""

from __future__ import annotations

import numpy as np

from spareopt.simulation import laws
from spareopt.simulation.kernel.compiled import entry, inlined
from spareopt.simulation.laws import _MULTIPLIERS, _WEYL, BELOW_ONE, ROUNDS

_M0, _M1 = (np.uint64(value) for value in _MULTIPLIERS)
_W0, _W1 = (np.uint64(value) for value in _WEYL)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIVE, _SIX = np.uint64(5), np.uint64(6)


@inlined
def _number(high, low):
    return min((np.float64(high >> _FIVE) * 67108864.0 + np.float64(low >> _SIX) + 0.5) * 2.0**-53, BELOW_ONE)


@entry
def uniforms(key, first, second, asked, purpose):
    """Two numbers uniform in (0, 1): see ``spareopt.simulation.laws.uniforms``."""
    c0, c1 = np.uint64(first), np.uint64(second)
    c2, c3 = np.uint64(asked), np.uint64(purpose)
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    for _ in range(ROUNDS):
        a, b = _M0 * c0, _M1 * c2
        c0 = (b >> _HALF) ^ c1 ^ k0
        c1 = b & _LOW
        c2 = (a >> _HALF) ^ c3 ^ k1
        c3 = a & _LOW
        k0 = (k0 + _W0) & _LOW
        k1 = (k1 + _W1) & _LOW
    return _number(c0, c1), _number(c2, c3)


exponential = inlined(laws.exponential)
# once: what is compiled is kept under the plain function's name, whatever it is compiled for
draw = entry(laws.draw, forceinline=True)
