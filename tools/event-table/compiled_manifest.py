"""Reads the event manifest that message compilers put into a Windows library as resource WEVT_TEMPLATE.

Everything is little-endian, and every offset counts from the start of the resource."""

import struct
from dataclasses import dataclass, field

# What a field's flags say of its count and, for bytes, its length.
IS_STRUCT, LENGTH_IS_FIXED, LENGTH_IS_FIELD, COUNT_IS_FIXED, COUNT_IS_FIELD = 1, 2, 4, 8, 16
# The Windows SDK's TDH_INTYPE codes.
IN_TYPES = {1: "STRING", 2: "ANSI", 3: "I8", 4: "U8", 5: "I16", 6: "U16", 7: "I32", 8: "U32", 9: "I64",
            10: "U64", 11: "F32", 12: "F64", 13: "BOOL", 14: "BYTES", 15: "GUID", 16: "POINTER",
            20: "U32", 21: "U64"}


@dataclass
class Field:
    name: str
    type: str
    count_field: int = -1  # index among the fields of the same list
    fixed_count: int = 0
    members: list = field(default_factory=list)  # of a STRUCT


@dataclass
class Event:
    id: int
    version: int
    level: int
    opcode: int
    keywords: int
    task_name: str
    opcode_name: str
    fields: list
    name: str = ""


@dataclass
class Provider:
    events: list
    keywords: dict  # name to bit


def read_resource(library):
    """The bytes of the library's first WEVT_TEMPLATE resource."""
    pe, = struct.unpack_from("<I", library, 0x3C)
    section_count, = struct.unpack_from("<H", library, pe + 6)
    optional_size, = struct.unpack_from("<H", library, pe + 20)
    is_64bit = struct.unpack_from("<H", library, pe + 24)[0] == 0x20B
    directories = pe + 24 + (112 if is_64bit else 96)
    sections = [struct.unpack_from("<IIII", library, pe + 24 + optional_size + 40 * i + 8)
                for i in range(section_count)]

    def file_offset(address):
        for _, start, size, offset in sections:
            if start <= address < start + size:
                return offset + address - start
        raise ValueError(f"address {address:#x} is in no section")

    root = file_offset(struct.unpack_from("<I", library, directories + 2 * 8)[0])

    def entries(directory):
        named, numbered = struct.unpack_from("<HH", library, root + directory + 12)
        for i in range(named + numbered):
            yield struct.unpack_from("<II", library, root + directory + 16 + 8 * i)

    def name_of(entry):
        if not entry >> 31:
            return None
        at = root + (entry & 0x7FFFFFFF)
        size, = struct.unpack_from("<H", library, at)
        return library[at + 2:at + 2 + 2 * size].decode("utf-16le")

    for name, target in entries(0):
        if name_of(name) != "WEVT_TEMPLATE":
            continue
        while target >> 31:  # type, then name, then language
            _, target = next(entries(target & 0x7FFFFFFF))
        address, size = struct.unpack_from("<II", library, root + target)
        start = file_offset(address)
        return library[start:start + size]
    raise ValueError("the library has no WEVT_TEMPLATE resource")


class Manifest:
    def __init__(self, resource):
        self.data = resource
        signature, _, _, _, count = self.unpack("<4sIHHI", 0)
        if signature != b"CRIM":
            raise ValueError("not a compiled manifest")
        self.providers = {}
        for i in range(count):
            guid, offset = self.unpack("<16sI", 16 + 20 * i)
            self.providers[guid.hex()] = self.provider(offset)

    def unpack(self, layout, offset):
        return struct.unpack_from(layout, self.data, offset)

    def name(self, offset):
        size, = self.unpack("<I", offset)
        return self.data[offset + 4:offset + size].decode("utf-16le").rstrip("\0")

    def rows(self, offset, header, layout):
        count, = self.unpack("<I", offset + 8)
        size = struct.calcsize(layout)
        for i in range(count):
            yield self.unpack(layout, offset + header + size * i)

    def provider(self, offset):
        count, = self.unpack("<I", offset + 12)
        parts = {}
        for i in range(count):
            part, = self.unpack("<I", offset + 20 + 8 * i)
            parts[self.data[part:part + 4]] = part
        tasks = {task: self.name(name) for task, _, _, name in self.rows(parts[b"TASK"], 12, "<II16sI")}
        opcodes = {opcode: self.name(name) for opcode, _, name in self.rows(parts[b"OPCO"], 12, "<III")}
        keywords = {self.name(name): bit for bit, _, name in self.rows(parts[b"KEYW"], 12, "<QII")} \
            if b"KEYW" in parts else {}
        events = [self.event(row, tasks, opcodes)
                  for row in self.rows(parts[b"EVNT"], 16, "<HBBBBHQIIIIIIII")]
        return Provider(events, keywords)

    def event(self, row, tasks, opcodes):
        event_id, version, _, level, opcode, task, keywords, _, template = row[:9]
        # An opcode may be a task's own or, with task 0, any task's.
        opcode_name = opcodes.get(opcode << 16 | task) or opcodes.get(opcode << 16, "")
        return Event(event_id, version, level, opcode, keywords, tasks.get(task, ""), opcode_name,
                     self.fields(template) if template else [])

    def fields(self, template):
        top_count, all_count, items = self.unpack("<III", template + 8)
        rows = [self.unpack("<IHHIHHI", items + 20 * i) for i in range(all_count)]
        return [self.field(rows, 0, i) for i in range(top_count)]

    def field(self, rows, first, index):
        flags, types, member_count, _, count, length, name = rows[index]
        result = Field(self.name(name), "STRUCT" if flags & IS_STRUCT else IN_TYPES[types & 0xFF])
        if flags & IS_STRUCT:
            result.members = [self.field(rows, types, types + i) for i in range(member_count)]
        if flags & COUNT_IS_FIELD:
            result.count_field = count - first
        elif flags & COUNT_IS_FIXED:
            result.fixed_count = count
        if flags & LENGTH_IS_FIELD:
            result.count_field = length - first
        elif flags & LENGTH_IS_FIXED:
            result.fixed_count = length
        return result
