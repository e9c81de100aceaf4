# SPDX-License-Identifier: Apache-2.0
"""The tables of `run.sqlite`, and the version that says which reader understands them."""

from __future__ import annotations

FILE_NAME = "run.sqlite"

# Kept in the file's `user_version`. A reader refuses a newer one; a column that only adds
# something gets a default and keeps the number.
VERSION = 1

# "vSok": tells a run apart from any other SQLite file (kept in `application_id`).
APPLICATION_ID = 0x76536F6B

# Rows are few and wide, and read whole: what is a mapping or a list in `record.py` is JSON here.
# Every table keeps the order of writing (`rowid`), which is the order of the run.
TABLES = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    plan TEXT NOT NULL,
    status TEXT NOT NULL,
    started TEXT NOT NULL,
    verdict TEXT
);
CREATE TABLE arm (
    name TEXT NOT NULL UNIQUE,
    engine TEXT NOT NULL,
    failure TEXT NOT NULL DEFAULT ''
);
CREATE TABLE round (
    arm TEXT NOT NULL REFERENCES arm (name),
    "index" INTEGER NOT NULL,
    phase TEXT NOT NULL,
    requests INTEGER NOT NULL,
    total_requests INTEGER NOT NULL,
    seconds REAL NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    latency TEXT NOT NULL,
    blocks TEXT NOT NULL
);
CREATE TABLE sample (
    arm TEXT NOT NULL REFERENCES arm (name),
    process TEXT NOT NULL,
    pid INTEGER NOT NULL,
    phase TEXT NOT NULL,
    round INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    elapsed REAL NOT NULL,
    "values" TEXT NOT NULL,
    lengths TEXT NOT NULL,
    garbage TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE census (
    arm TEXT NOT NULL REFERENCES arm (name),
    process TEXT NOT NULL,
    round INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    objects INTEGER NOT NULL,
    containers INTEGER NOT NULL,
    seconds REAL NOT NULL,
    walker TEXT NOT NULL,
    partial TEXT NOT NULL
);
CREATE TABLE population (
    arm TEXT NOT NULL REFERENCES arm (name),
    process TEXT NOT NULL,
    round INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    path TEXT NOT NULL,
    template TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    type TEXT NOT NULL,
    length INTEGER NOT NULL,
    shallow_bytes INTEGER NOT NULL,
    exclusive_per_entry REAL,
    bound INTEGER,
    bound_reason TEXT NOT NULL,
    steps TEXT NOT NULL,
    entry_types TEXT NOT NULL,
    grown INTEGER,
    "limit" INTEGER,
    limit_name TEXT NOT NULL DEFAULT '',
    age REAL,
    age_name TEXT NOT NULL DEFAULT '',
    weak TEXT NOT NULL DEFAULT '',
    samples TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE patch (
    arm TEXT NOT NULL REFERENCES arm (name),
    process TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    upstream TEXT NOT NULL,
    affected TEXT NOT NULL
);
CREATE TABLE point (
    arm TEXT NOT NULL REFERENCES arm (name),
    elapsed REAL NOT NULL,
    process TEXT NOT NULL,
    pid INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    "values" TEXT NOT NULL
);
CREATE TABLE process_event (
    arm TEXT NOT NULL REFERENCES arm (name),
    elapsed REAL NOT NULL,
    kind TEXT NOT NULL,
    process TEXT NOT NULL,
    pid INTEGER NOT NULL,
    detail TEXT NOT NULL
);
CREATE TABLE level_step (
    arm TEXT NOT NULL REFERENCES arm (name),
    elapsed REAL NOT NULL,
    seen REAL NOT NULL,
    requests INTEGER NOT NULL,
    changes TEXT NOT NULL,
    reason TEXT NOT NULL,
    contention TEXT NOT NULL DEFAULT ''
);
CREATE TABLE capture (
    arm TEXT NOT NULL REFERENCES arm (name),
    elapsed REAL NOT NULL,
    seconds REAL NOT NULL,
    reason TEXT NOT NULL,
    folder TEXT NOT NULL,
    files TEXT NOT NULL,
    notes TEXT NOT NULL
);
CREATE TABLE event (
    arm TEXT NOT NULL,
    elapsed REAL NOT NULL,
    level TEXT NOT NULL,
    text TEXT NOT NULL
);
"""
