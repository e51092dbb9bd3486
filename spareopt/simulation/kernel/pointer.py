"""The state of a replication as one plain pointer, which is all that compiled functions pass on.

Passed as a tuple, forty arrays would be copied at every call; as numba's own structures, the users of each would be
counted at every use.  Either costs more than the simulation itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, intrinsic, lower_getattr_generic, typeof_impl, unbox

from spareopt.simulation.kernel.compiled import entry

BYTES = ir.PointerType(ir.IntType(8))
ROOM = 2048
"""Words for what compiled code knows of the arrays of a state: some ten for each."""


class StateType(types.Type):
    """The compiled type of a pointer to a state."""

    def __init__(self, held: types.NamedTuple) -> None:
        self.held = held
        super().__init__(name=f"pointer to {held}")


@register_default(StateType)
class _StateModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, BYTES)


@infer_getattr
class _StateFields(AttributeTemplate):
    key = StateType

    def generic_resolve(self, kind: Any, field: str) -> Any:
        return kind.held[kind.held.fields.index(field)] if field in kind.held.fields else None


@lower_getattr_generic(StateType)
def _load_field(context, builder, kind, pointer, field):
    held = builder.bitcast(pointer, context.get_value_type(kind.held).as_pointer())
    return builder.load(cgutils.gep_inbounds(builder, held, 0, kind.held.fields.index(field)))


class StatePointer:
    """A pointer to a state (a named tuple of arrays), and the state, which thereby lives as long."""

    def __init__(self, state: tuple[Any, ...]) -> None:
        self.state = state
        self.words = np.zeros(ROOM, dtype=np.int64)
        self.address = self.words.ctypes.data
        _store(self.address, state)


@typeof_impl.register(StatePointer)
def _type_of(pointer: StatePointer, context: Any) -> StateType:
    return StateType(typeof_impl(pointer.state, context))


@unbox(StateType)
def _unbox(kind, pointer, context):
    address = context.pyapi.object_getattr_string(pointer, "address")
    number = context.pyapi.long_as_longlong(address)
    context.pyapi.decref(address)
    return NativeValue(context.builder.inttoptr(number, BYTES))


@intrinsic
def _store_at(context, address, state):
    def generate(context, builder, signature, arguments):
        kind, value = signature.args[1], arguments[1]
        held = context.get_value_type(kind)
        if context.get_abi_sizeof(held) > 8 * ROOM:
            raise NotImplementedError(f"a state takes {context.get_abi_sizeof(held)} bytes; make ROOM larger")
        for i, field in enumerate(kind):
            if isinstance(field, types.Array):  # nobody counts who uses it: the state is kept beside the pointer
                array = context.make_array(field)(context, builder, builder.extract_value(value, i))
                array.meminfo = cgutils.get_null_value(array.meminfo.type)
                array.parent = cgutils.get_null_value(array.parent.type)
                value = builder.insert_value(value, array._getvalue(), i)
        builder.store(value, builder.inttoptr(arguments[0], held.as_pointer()))
        return context.get_dummy_value()

    return types.none(types.int64, state), generate


@entry
def _store(address, state):
    _store_at(address, state)
