"""Apache Thrift's own compact protocol, read and written in the shape of `app.ingest.thrift`: the reference for it."""

from __future__ import annotations

import struct
from typing import Any

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from app.ingest.thrift import BINARY, I32, I64, LIST, STRUCT, Struct

TRUE, FALSE, BYTE, I16, DOUBLE, SET = 1, 2, 3, 4, 7, 10
# The compact protocol's number of a type, and the number that the library's methods take.
_TYPES = {
    TRUE: TType.BOOL,
    FALSE: TType.BOOL,
    BYTE: TType.BYTE,
    I16: TType.I16,
    I32: TType.I32,
    I64: TType.I64,
    DOUBLE: TType.DOUBLE,
    BINARY: TType.STRING,
    LIST: TType.LIST,
    SET: TType.SET,
    STRUCT: TType.STRUCT,
}
_KINDS = {number: kind for kind, number in _TYPES.items()}
_NUMBERS = {I16: "I16", I32: "I32", I64: "I64"}


def upstream_decode(data: bytes) -> tuple[Struct, int]:
    """The struct that the bytes begin with, and its length, as the library reads it."""
    buffer = TMemoryBuffer(data)
    return _read_struct(TCompactProtocol(buffer)), buffer.cstringio_buf.tell()


def upstream_encode(value: Struct) -> bytes:
    """A struct as the library writes it; a list is a pair of the kind of its items and the items."""
    buffer = TMemoryBuffer()
    _write_struct(TCompactProtocol(buffer), value)
    written: bytes = buffer.getvalue()
    return written


def _read_struct(protocol: Any) -> Struct:
    values: Struct = {}
    protocol.readStructBegin()
    while True:
        _, number, field = protocol.readFieldBegin()
        if number == TType.STOP:
            protocol.readStructEnd()
            return values
        if number == TType.BOOL:
            truth = protocol.readBool()
            values[field, TRUE if truth else FALSE] = truth
        else:
            values[field, _KINDS[number]] = _read(protocol, number)
        protocol.readFieldEnd()


def _read(protocol: Any, number: int) -> Any:
    kind = _KINDS[number]
    if kind in _NUMBERS:
        return getattr(protocol, f"read{_NUMBERS[kind]}")()
    if kind == STRUCT:
        return _read_struct(protocol)
    if kind in {LIST, SET}:
        item, size = protocol.readListBegin()
        items = [_read(protocol, item) for _ in range(size)]
        protocol.readListEnd()
        return items
    if kind == BINARY:
        return protocol.readBinary()
    if kind == DOUBLE:
        return struct.pack("<d", protocol.readDouble())
    return protocol.trans.readAll(1)[0]  # bytes and the truth values of a list: the byte itself, as ours has it


def _write_struct(protocol: Any, value: Struct) -> None:
    protocol.writeStructBegin("")
    for (field, kind), inner in value.items():
        protocol.writeFieldBegin("", _TYPES[kind], field)
        _write(protocol, kind, inner)
        protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()


def _write(protocol: Any, kind: int, value: Any) -> None:
    if kind in _NUMBERS:
        getattr(protocol, f"write{_NUMBERS[kind]}")(value)
    elif kind == STRUCT:
        _write_struct(protocol, value)
    elif kind in {LIST, SET}:
        item, items = value
        protocol.writeListBegin(_TYPES[item], len(items))
        for inner in items:
            _write(protocol, item, inner)
        protocol.writeListEnd()
    elif kind == BINARY:
        protocol.writeBinary(value)
    elif kind == DOUBLE:
        protocol.writeDouble(value)
    elif kind == BYTE:
        protocol.writeByte(value)
    else:
        protocol.writeBool(value)
