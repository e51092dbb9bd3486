"""Text files read many lines at once give what csv and the readers of single texts give, whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spareopt.calibration import byte_fields, plain_text, text_tables
from spareopt.calibration.byte_fields import Block, Fields
from spareopt.calibration.codes import Coder
from spareopt.calibration.log_mapping import LogMapping
from spareopt.calibration.log_times import StampParts, stamps
from spareopt.calibration.sorting import sort_order
from spareopt.errors import InputError

shared_folder = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def fields_of(texts: Sequence[str], encoding: str = "utf-8") -> Fields:
    """Texts as fields of a block, a line each."""
    found = [text.encode(encoding) for text in texts]
    length = np.array([len(text) for text in found], dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(length + 1)))[:-1].astype(np.int64)
    return Fields(Block.of(b"".join(text + b"\n" for text in found), encoding), start, length)


def table_of(path: Path) -> Any:
    """All that a file's table holds, or how it is refused."""
    try:
        table = text_tables.open_table(path, LogMapping())
        chunks = list(table.chunks(range(len(table.header))))
    except InputError as error:
        return str(error)
    rows = [
        (int(line), *row)
        for chunk in chunks
        for line, *row in zip(chunk.line, *(list(column) for column in chunk.columns), strict=True)
    ]
    ragged = [(line, why, list(row)) for chunk in chunks for line, why, row in chunk.ragged]
    return table.header, rows, ragged


some_texts = st.text(alphabet="aü ,\n", max_size=60)
any_texts = st.text(alphabet='ab ü,,,\n\n\r\0"\ufeff\u2028', max_size=60)


@given(
    st.one_of(some_texts, any_texts, some_texts.map(lambda text: text.replace("\n", "\r\n"))),
    st.sampled_from(["a,b,c\n", "a,b\r\n", "\ufeffa,b\n", '"a","b\nb"\n', "a,b\r"]),
    st.sampled_from([9, 30, 1 << 21]),
)
@example("x,y,\n,,\n , ,\nx\nx,y,z\n\nx,y,z,\nx,y,z,x", "a,b,c\n", 30)
@example('x,y,z\nx,y,z\nx,y,z\n"x\n",y,z\nx', "a,b,c\n", 9)
@shared_folder
def test_a_file_is_the_table_that_csv_makes_of_it(tmp_path: Path, text: str, header: str, block: int) -> None:
    """Rows, lines and refusals, with breaks, quotes, blanks and misfits anywhere, and blocks that end anywhere."""
    path = tmp_path / "table.csv"
    path.write_bytes((header + text).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "BLOCK", block)
        found = table_of(path)
        patch.setattr(text_tables, "ENCODINGS", ())
        assert found == table_of(path)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "windows-1252"])
def test_plain_files_do_not_need_csv(tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a quote csv reads the header alone; bytes that are no text are refused as before."""
    path = tmp_path / "table.csv"
    path.write_bytes("a,b\nx,Lüfter\r\ny,z".encode(encoding))
    monkeypatch.setattr(text_tables, "_chunk", None)
    table = text_tables.open_table(path, LogMapping(encoding=encoding))
    chunks = list(table.chunks([1]))
    assert [text for chunk in chunks for text in chunk.columns[0]] == ["Lüfter", "z"]
    assert [line for chunk in chunks for line in chunk.line.tolist()] == [2, 3]


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Far below the header, too."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"x,y\n" * 5000 + b"x,\xff\n")
    assert "is not text in UTF-8" in table_of(path)


names = st.text(alphabet="ab ü-", max_size=3) | st.sampled_from(["", "NaN", " none ", "a" * 64, "a" * 65, "b" * 200])


@given(st.lists(st.lists(names, max_size=12), max_size=4), st.sampled_from([1, 2, 2**64]))
def test_names_get_the_numbers_that_they_get_one_by_one(parts: list[list[str]], hashes: int) -> None:
    """Also names whose hashes are equal (here all, or half of them), and long ones; chunk after chunk."""
    together, alone = Coder(), Coder()
    with pytest.MonkeyPatch.context() as patch:
        true_hashes = byte_fields._hashes
        if hashes < 2**64:
            patch.setattr(byte_fields, "_hashes", lambda words: true_hashes(words) % np.uint64(hashes))
        for part in parts:
            assert together.codes(fields_of(part)).tolist() == alone.codes(part).tolist()
    assert together.names == alone.names


def test_more_names_than_an_index_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names beyond are looked up one by one."""
    together, alone = Coder(), Coder()
    monkeypatch.setattr(together._index, "_most", 3)
    for part in (list("abca"), list("defd"), list("afxg")):
        assert together.codes(fields_of(part)).tolist() == alone.codes(part).tolist()
    assert together.names == alone.names == list("abcdefxg")


days = st.sampled_from(
    ["2027-01-31", "2027-02-29", "2027-02-30", "1600-01-01", "9999-12-31", "2027/01/31", "2027-1-31"]
)
clocks = st.sampled_from(
    ["T08:00:00", " 08:00:00", "t23:59:59", "T24:00:00", "T23:59:60", "T08:00", " 8:00:00", "T08:00Z", "  08:00:00", ""]
)
rests = st.sampled_from(
    ["", "Z", "z", " UTC", "+01:00", "-0800", "+14", "+24:00", ".5", ".250+01:00", ",123456789Z", ".", " .5", " ", "ZZ"]
)
times = st.builds(lambda *parts: "".join(parts), days, clocks, rests)
others = st.text(alphabet="0123456789-:T Z+.now/ü٣", max_size=27)


@given(st.lists(st.lists(times | others, max_size=8), max_size=3))
@settings(max_examples=150, deadline=None)
def test_timestamps_in_parts_are_those_as_a_whole(chunks: list[list[str]]) -> None:
    """Every day with every time of day and every offset, good and bad, chunk after chunk."""
    parts = StampParts()
    for texts in chunks:
        found, expected = parts.stamps(fields_of(texts)), stamps(texts, None)
        assert found.state.tolist() == expected.state.tolist()
        assert found.microseconds.tolist() == expected.microseconds.tolist()
        assert found.local.tolist() == expected.local.tolist()


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), max_size=30), st.integers(1, 3))
def test_the_order_is_that_of_all_keys(rows: list[tuple[int, ...]], first: int) -> None:
    """As numpy's lexsort has it, whatever number of keys comes first."""
    keys = [np.array([row[at] for row in rows], dtype=np.int64) for at in range(4)]
    assert sort_order(keys[:first], keys[first:]).tolist() == np.lexsort(keys[::-1]).tolist()
