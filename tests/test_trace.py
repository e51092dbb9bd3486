"""Traces: what a file means, and that every fault of it is refused with one message that says where and what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spareopt.errors import InputError
from spareopt.simulation.trace import Trace, read_trace, trace_events

STEPFUN = Path(__file__).resolve().parents[2] / "shared" / "data" / "stepfun" / "fault_intervals.csv"


def read(folder: Path, text: str | bytes) -> Trace:
    """The trace of a file with this content."""
    path = folder / "faults.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trace(path)


def refusal(folder: Path, text: str | bytes) -> str:
    """The message with which such a file is refused, without the file's name, which it must start with."""
    with pytest.raises(InputError) as caught:
        read(folder, text)
    message, name = str(caught.value), f"{folder / 'faults.csv'}: "
    assert message.startswith(name)
    return message.removeprefix(name)


def intervals(trace: Trace) -> list[tuple[str, float, float]]:
    """The intervals with the names of their units."""
    rows = zip(trace.unit.tolist(), trace.start_h.tolist(), trace.end_h.tolist(), strict=True)
    return [(trace.names[unit], start, end) for unit, start, end in rows]


def test_times_are_read_in_every_form(tmp_path: Path) -> None:
    """Hours, days and times with units say the same; columns are found by name, and others don't matter."""
    expected = [("b", 93.6, 624.984), ("a", 0.0, 2.4)]
    for text in (
        "unit,start_h,end_h\nb,93.6,624.984\na,0,2.4\n",
        "why,end_day,unit,start_day\nfan,26.041,b,3.9\nNaN,0.1,a,0\n",
        'node,start,end\nb,3.9 d,"37,499.04 min"\n a ,0,2.4 h\n',
        "\ufeffunit , start_h, end_h\r\n\r\nb, 93.6 ,6.24984e2\r\na,0,2.40",
        '"unit",note,start_h,end_h\nb,"two\nlines",93.6,624.984\n,,,\na,"a ""quote"", and a comma",0,2.4\n',
    ):
        trace = read(tmp_path, text)
        assert intervals(trace) == expected
        assert trace.merged == 0
        assert trace.source == str(tmp_path / "faults.csv")


def test_intervals_of_a_unit_are_merged(tmp_path: Path) -> None:
    """Overlapping, touching, nested and repeated ones become one, whatever their order; other units' do not."""
    text = "unit,start_h,end_h\n"
    text += "x,5,7\ny,6,8\nx,1,3\nx,2,4\nx,4,5\nx,10,20\nx,11,12\nx,10,20\nx,20,20\nx,30,30\nx,30,30\n"
    trace = read(tmp_path, text)
    assert intervals(trace) == [("x", 1, 7), ("x", 10, 20), ("x", 30, 30), ("y", 6, 8)]
    assert trace.merged == 7


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 9)), min_size=1, max_size=25),
)
def test_merging_keeps_the_time_down(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]]
) -> None:
    """A unit is down in exactly the hours that some row says, and its intervals are apart."""
    lines = [f"u{unit},{start},{start + length}" for unit, start, length in rows]
    trace = read(tmp_path_factory.mktemp("trace"), "\n".join(("unit,start_h,end_h", *lines)))
    down = {(f"u{unit}", hour) for unit, start, length in rows for hour in range(start, start + length)}
    found = [(name, hour) for name, start, end in intervals(trace) for hour in range(int(start), int(end))]
    assert sorted(down) == sorted(found)
    alike = np.diff(trace.unit) == 0
    assert (trace.start_h[1:][alike] > trace.end_h[:-1][alike]).all()
    assert trace.merged == len(rows) - len(trace.unit)


def test_events_come_in_the_order_in_which_they_are_played(tmp_path: Path) -> None:
    """At equal times trays come back first, then others go down; one that is back at once goes down first."""
    trace = read(tmp_path, "unit,start_h,end_h\na,2,5\nb,5,5\nc,1,5\nd,5,6\na,8,9\n")
    events = trace_events(trace)
    played = list(zip(events.time.tolist(), events.tray.tolist(), events.down.tolist(), strict=True))
    a, b, c, d = range(4)
    assert played == [
        (1, c, 1),
        (2, a, 1),
        (5, a, 0),
        (5, c, 0),
        (5, b, 1),
        (5, b, 0),
        (5, d, 1),
        (6, d, 0),
        (8, a, 1),
        (9, a, 0),
    ]


HEADER = "unit,start_h,end_h\n"
BAD = {
    "": "is empty; expected a CSV file",
    "start_h,end_h\n1,2\n": "line 1, unit: no such column; expected unit (or node) in the header, got start_h, end_h",
    "unit,start_h\nx,1\n": "line 1, start_h, end_h: no such columns; expected start_h and end_h, start_day and end_day",
    "unit;start_h;end_h\nx;1;2\n": "2 faults\n  line 1, unit: no such column",
    "unit,start_h,end_h,start,end\nx,1,2,1 h,2 h\n": "line 1, start: expected the times once, got both",
    "unit,start_h,end_h,unit\nx,1,2,y\n": "line 1, unit: expected one column of that name, got 2",
    HEADER: "holds no faults; expected a row for each fault",
    HEADER + ",,\n": "holds no faults; expected a row for each fault",
    HEADER
    + "x,1,2,3\n": "is not a CSV file with as many fields in each line as in its header (Expected 3 fields in line",
    HEADER + 'x,1,2\n"y,1,2\n': "is not a CSV file",
    HEADER + ",1,2\n": "line 2, unit: expected the name of a unit, got ''",
    HEADER + "x,1\n": "line 2, end_h: expected a number of hours, got ''",
    HEADER + "x,1,2\n\ny,,4\n": "line 4, start_h: expected a number of hours, got ''",
    HEADER + '"two\nlines",1,2\ny,NaN,4\n': "line 4, start_h: expected a number of hours, got 'NaN'",
    HEADER + "x,1,inf\n": "line 2, end_h: expected a number of hours, got 'inf'",
    HEADER + "x,1,1e999\n": "line 2, end_h: expected a finite number",
    HEADER + "x,1,2 h\n": "line 2, end_h: expected a number of hours, got '2 h'",
    HEADER + "x,-1,2\n": "line 2, start_h: expected a number of hours of at least zero, got '-1'",
    HEADER + "x,4.5,2\n": "line 2, end_h: expected at least its start_h, 4.5, got 2",
    "node,start_day,end_day\nx,1,soon\n": "line 2, end_day: expected a number of days, got 'soon'",
    "node,start,end\nx,1,2 h\n": "line 2, start: expected a time with its unit, such as \"24 h\", got '1'",
    "node,start,end\nx,1 h,2 fortnights\n": "line 2, end: expected a time such as \"24 h\"; unit 'fortnights' is not",
    "node,start,end\nx,2 d,47 h\n": "line 2, end: expected at least its start, 2 d, got 47 h",
    "node,start,end\nx,-2 d,47 h\n": "line 2, start: expected a time such as \"93.5 h\" of at least zero, got '-2 d'",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_refused(tmp_path: Path, text: str) -> None:
    """Each slip has one message: line and column, what stands there, what was expected."""
    message = refusal(tmp_path, text)
    assert message.startswith(BAD[text])
    assert message.count("\n") == (2 if message.startswith("2 faults") else 0)


def test_all_faults_are_told_at_once_but_not_thousands(tmp_path: Path) -> None:
    """Every line at fault is named up to a number, then how many more there are."""
    message = refusal(tmp_path, HEADER + "x,1,2\n" + "x,2,1\n" * 3 + "y,a,b\n")
    assert [line.split(":")[0].strip() for line in message.split("\n")] == [
        "5 faults",
        "line 3, end_h",
        "line 4, end_h",
        "line 5, end_h",
        "line 6, start_h",
        "line 6, end_h",
    ]
    message = refusal(tmp_path, HEADER + "x,2,1\n" * 1000)
    assert message.count("\n") == 21
    assert message.endswith("980 faults more")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    """No file, a folder, a name that can't be one, and bytes that are no text."""
    assert "is not text in UTF-8" in refusal(tmp_path, b"\x89PNG\r\n\x1a\n\xff")
    for path, expected in (
        (tmp_path / "none.csv", "none.csv: no such file; expected a CSV file"),
        (tmp_path, "can't be read: Is a directory"),
        ("a\0b", "can't be read: embedded null"),
        ("x" * 5000, "can't be read: File name too long"),
        ("", "can't be read: Is a directory"),
    ):
        with pytest.raises(InputError) as caught:
            read_trace(path)
        assert expected in str(caught.value)


def test_bytes_without_sense_never_crash(tmp_path: Path) -> None:
    """NULs, lone quotes and lone returns are read or refused, never a traceback."""
    for text in (
        "\0",
        "unit,start_h,end_h\n\0,1,2\n",
        '"',
        "\r\r\r",
        "\n\n\n",
        ",,,\n,,,",
        "unit,start_h,end_h\rx,1,2\r",
    ):
        try:
            read(tmp_path, text)
        except InputError as error:
            assert "faults.csv" in str(error)


@pytest.mark.skipif(not STEPFUN.is_file(), reason="the trace of StepFun is kept beside the project, and is not here")
def test_stepfun() -> None:
    """The public trace of 400 servers over 348 d: its published counts (584 faults on 231 servers) and hours down."""
    trace = read_trace(STEPFUN)
    assert len(trace.unit) + trace.merged == 584
    assert len(trace.names) == 231
    assert trace.end_h.max() <= 349 * 24
    # 2.32 % of 400 servers down on average over 348 d: published from all rows, here without what overlaps
    assert (trace.end_h - trace.start_h).sum() / (400 * 348 * 24) == pytest.approx(0.0232, abs=0.0003)
    events = trace_events(trace)
    servers = np.cumsum(2 * events.down - 1)
    assert servers[-1] == 0
    assert servers.min() >= 0
    # The published 99.9 % of the time at most 33 servers are down
    length = np.diff(events.time)
    assert length[servers[:-1] > 33].sum() < 0.001 * 348 * 24
    assert length[servers[:-1] > 32].sum() > 0.001 * 348 * 24
