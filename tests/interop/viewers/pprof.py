"""Reads a pprof file by its public schema, as strictly as pprof does, and prints it as JSON.

    /usr/bin/python3 pprof.py FILE        needs Debian's protobuf-compiler and python3-protobuf; exits 77 without
"""
import gzip
import importlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def load_schema():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"-I{HERE}", f"--python_out={folder}", "profile.proto"], check=True)
        sys.path.insert(0, folder)
        return importlib.import_module("profile_pb2")


def by_id(messages):
    found = {message.id: message for message in messages}
    assert len(found) == len(messages) and 0 not in found, "ids are unique and not 0"
    return found


def main(path):
    with gzip.open(path) as file:
        profile = load_schema().Profile.FromString(file.read())
    strings = profile.string_table
    assert strings[0] == ""
    functions, mappings, locations = by_id(profile.function), by_id(profile.mapping), by_id(profile.location)

    def name_of(location):
        assert len(location.line) == 1
        return strings[functions[location.line[0].function_id].name]

    samples = []
    for sample in profile.sample:
        assert len(sample.value) == len(profile.sample_type)
        labels = {strings[label.key]: strings[label.str] if label.str else label.num for label in sample.label}
        samples.append([[name_of(locations[id]) for id in reversed(sample.location_id)], list(sample.value), labels])
    json.dump({
        "types": [[strings[column.type], strings[column.unit]] for column in profile.sample_type],
        "default": strings[profile.default_sample_type],
        "time": profile.time_nanos,
        "duration": profile.duration_nanos,
        "comments": [strings[index] for index in profile.comment],
        "modules": sorted({strings[mappings[location.mapping_id].filename] for location in profile.location
                           if location.mapping_id}),
        "lines": sum(location.line[0].line > 0 for location in profile.location),
        "samples": samples,
    }, sys.stdout)


try:
    import google.protobuf  # noqa: F401
    subprocess.run(["protoc", "--version"], check=True, capture_output=True)
except (ImportError, OSError) as missing:
    print(missing)
    sys.exit(77)
main(sys.argv[1])
