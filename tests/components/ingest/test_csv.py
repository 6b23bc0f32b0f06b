"""CSV files: what is read, against Python's csv module and pandas, and the exact error of each bad file."""

import csv
import io
import os
import random
from pathlib import Path

import pytest

from components.ingest.csv import read_csv
from pipeline.config.model import DataConfig
from pipeline.errors import HeadraceError


def read(path: Path, delimiter: str = ",", declared: dict | None = None):
    return read_csv(str(path), DataConfig(path=str(path), delimiter=delimiter), declared)


def write(tmp_path: Path, content: str | bytes, name: str = "rows.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(tmp_path: Path, content: str | bytes, **options) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        read(write(tmp_path, content), **options)
    assert all(len(line) <= 400 for line in caught.value.seen)
    assert caught.value.fix
    return caught.value


def test_numbers_and_text_are_read_as_pandas_reads_them(tmp_path):
    import numpy as np
    import pandas as pd

    draw = random.Random(3)
    lines = ["whole,real,word"]
    for _ in range(5_000):
        whole = draw.choice(["", str(draw.randint(-(2**40), 2**40))])
        lines.append(f"{whole},{draw.choice(['', repr(draw.gauss(0, 1e3))])},{draw.choice(['', 'a b', 'é', 'x'])}")
    path = write(tmp_path, "\n".join(lines) + "\n")
    table = read(path).table
    expected = pd.read_csv(path, dtype={"whole": "Int64", "word": "object"})
    assert [str(field.type) for field in table.schema] == ["int64", "float", "binary"]
    assert table["whole"].to_pylist() == [None if pd.isna(v) else int(v) for v in expected.whole]
    np.testing.assert_array_equal(table["real"].to_numpy(), expected.real.to_numpy().astype(np.float32))
    assert table["word"].to_pylist() == [None if pd.isna(v) else v.encode() for v in expected.word]


def test_quoted_newlines_delimiters_and_quotes_are_part_of_the_text(tmp_path):
    rows = [["1", 'says "no"'], ["2", "two\nlines"], ["3", "a,b"], ["4", "carriage\r\nreturn"], ["5", "\n\n"]]
    text = io.StringIO()
    csv.writer(text).writerows([["n", "t"], *rows])
    table = read(write(tmp_path, text.getvalue())).table
    assert table["n"].to_pylist() == [1, 2, 3, 4, 5]
    assert table["t"].to_pylist() == [row[1].encode() for row in rows]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    table = read(write(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n")).table
    assert table.to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_and_blank_lines_are_read(tmp_path, end):
    table = read(write(tmp_path, end.join(["", "a,b", "1,x", "", "2,y"]))).table
    assert table.to_pydict() == {"a": [1, 2], "b": [b"x", b"y"]}


def test_a_tab_separated_file_is_read_with_its_delimiter(tmp_path):
    assert read(write(tmp_path, "a\tb\n1\tx,y\n"), delimiter="\t").table.to_pydict() == {"a": [1], "b": [b"x,y"]}


def test_a_folder_is_read_by_name_and_typed_as_a_whole(tmp_path):
    write(tmp_path, "a,b\n3,x\n", "2.csv")
    write(tmp_path, "a,b\n1,x\n2,7\n", "1.csv")
    write(tmp_path, "not read", ".hidden.csv")
    source = read(tmp_path)
    assert source.table.to_pydict() == {"a": [1, 2, 3], "b": [b"x", b"7", b"x"]}
    assert source.places([0, 1, 2]) == [f"{tmp_path}/1.csv:2", f"{tmp_path}/1.csv:3", f"{tmp_path}/2.csv:2"]
    assert source.size_bytes == 20


def test_rows_are_named_by_the_line_on_which_they_start(tmp_path):
    path = write(tmp_path, 'a,b\n\n1,"two\nlines"\n2,x\n\n\n3,y\n')
    assert read(path).places([0, 1, 2]) == [f"{path}:3", f"{path}:5", f"{path}:8"]


def test_a_missing_file_is_named_with_its_neighbour(tmp_path):
    write(tmp_path, "a\n1\n", "flights.csv")
    with pytest.raises(HeadraceError) as caught:
        read(tmp_path / "flihgts.csv")
    assert caught.value.code == "HR-DATA-001"
    assert caught.value.seen == [f"{tmp_path} holds flights.csv"]
    assert caught.value.fix[0] == f"--set data.path={tmp_path}/flights.csv"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(HeadraceError, match="HR-DATA-001") as caught:
        read(tmp_path / "no" / "rows.csv")
    assert caught.value.seen == [f"there is no folder {tmp_path}/no"]
    assert caught.value.exit_code == 3


def test_a_folder_without_csv_files_points_to_the_format_that_it_holds(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").write_bytes(b"")
    with pytest.raises(HeadraceError, match="HR-DATA-002") as caught:
        read(tmp_path)
    assert caught.value.seen == ["cat"]
    assert caught.value.fix == ["--set data.format=images"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path, content):
    error = refused(tmp_path, content)
    assert error.code == "HR-DATA-003"
    assert error.seen[0].startswith(f"{len(content)} bytes")


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "\na,b\n\n"])
def test_a_header_without_rows_is_refused(tmp_path, content):
    error = refused(tmp_path, content)
    assert error.code == "HR-DATA-004"
    assert error.seen == ["2 column names and nothing below: a, b"]


@pytest.mark.parametrize(
    ("delimiter", "fix"),
    [(";", "--set data.delimiter=';'"), ("\t", "--set data.delimiter=$'\\t'"), ("|", "--set data.delimiter='|'")],
)
def test_another_delimiter_is_recognised(tmp_path, delimiter, fix):
    error = refused(tmp_path, f"a{delimiter}b{delimiter}c\n1{delimiter}2,5{delimiter}3\n")
    assert error.code == "HR-DATA-005"
    assert error.expected == "3 columns"
    assert error.fix == [fix]


def test_a_comma_file_read_with_semicolons_is_recognised(tmp_path):
    assert refused(tmp_path, "a,b\n1,2\n", delimiter=";").fix == ["--set data.delimiter=','"]


def test_a_latin1_file_is_refused_with_its_line_and_column(tmp_path):
    error = refused(tmp_path, 'town,n\nParis,1\n"two\nlines",2\nOrléans,3\nNîmes,4\n'.encode("latin-1"))
    path = tmp_path / "rows.csv"
    assert error.code == "HR-DATA-006"
    assert error.what == f"{path}:5 is not UTF-8; it looks like ISO-8859-1"
    assert error.seen == [
        f"{path}:5 column 'town': byte 0xE9 in 'Orléans'",
        f"{path}:6 column 'town': byte 0xEE in 'Nîmes'",
    ]
    assert error.fix[0] == f"iconv -f ISO-8859-1 -t UTF-8 {path} > {tmp_path}/rows-utf8.csv"
    assert os.system(error.fix[0]) == 0
    assert read(tmp_path / "rows-utf8.csv").table["town"].to_pylist()[2:] == ["Orléans".encode(), "Nîmes".encode()]


def test_windows_quotes_and_a_latin1_header_are_recognised(tmp_path):
    error = refused(tmp_path, "café,n\n“a”,1\n".encode("cp1252"))
    assert error.fix[0].startswith("iconv -f WINDOWS-1252 ")
    assert error.seen[0].endswith(":1 column 'café': byte 0xE9 in 'café'")


def test_utf16_is_refused(tmp_path):
    assert refused(tmp_path, "a,b\n1,2\n".encode("utf-16")).fix[0].startswith("iconv -f UTF-16 ")


@pytest.mark.parametrize(
    ("content", "name"), [(b"PAR1\x00", "Parquet"), (b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "ZIP")]
)
def test_a_file_of_another_format_is_refused(tmp_path, content, name):
    error = refused(tmp_path, content)
    assert error.code == "HR-DATA-030"
    assert name in error.what


def test_ragged_rows_are_named_with_their_lines(tmp_path):
    content = 'a,b,c\n1,2,3\n4,5\n"x\ny",2,3\n6,7,8,9\n' + "1\n" * 10
    error = refused(tmp_path, content)
    path = tmp_path / "rows.csv"
    assert error.code == "HR-DATA-007"
    assert error.what == f"{path}:3 has another number of fields than the header"
    assert error.seen[:2] == [f"{path}:3 has 2 of 3 fields: 4,5", f"{path}:6 has 4 of 3 fields: 6,7,8,9"]
    assert (len(error.seen), error.more_seen) == (5, 7)
    assert error.fix[0] == f"sed -n 3p {path}"


def test_a_quote_that_is_never_closed_is_found_though_every_reader_swallows_it(tmp_path):
    error = refused(tmp_path, 'a,b\n1,x\n2,"y\n3,z\n4,w\n')
    assert error.code == "HR-DATA-029"
    assert error.seen == [f'{tmp_path}/rows.csv:3 2,"y']


def test_two_open_quotes_that_close_each_other_are_found(tmp_path):
    error = refused(tmp_path, 'a,b\n1,"x\n2,y\n3,"z\n4,w\n')
    assert error.code == "HR-DATA-029"
    assert error.what.startswith(f"{tmp_path}/rows.csv:2 ")


def test_an_inch_mark_in_a_field_is_text(tmp_path):
    assert read(write(tmp_path, 'a,b\n1,5" pipe\n2,x\n')).table["b"].to_pylist() == [b'5" pipe', b"x"]


def test_duplicate_names_are_refused(tmp_path):
    error = refused(tmp_path, "a,b,a,c,b,a\n1,2,3,4,5,6\n")
    assert error.code == "HR-DATA-008"
    assert error.seen == ["'a' 3 times", "'b' 2 times"]


def test_a_column_without_a_name_is_refused(tmp_path):
    error = refused(tmp_path, ",a, \n0,1,2\n")
    assert error.code == "HR-DATA-009"
    assert error.seen == ["column 1 of 3", "column 3 of 3, after 'a'"]


def test_files_of_a_folder_with_other_columns_are_refused(tmp_path):
    write(tmp_path, "a,b\n1,2\n", "1.csv")
    write(tmp_path, "a,c\n1,2\n", "2.csv")
    with pytest.raises(HeadraceError, match="HR-DATA-020") as caught:
        read(tmp_path)
    assert caught.value.seen == [f"{tmp_path}/2.csv lacks 'b'", f"{tmp_path}/2.csv also has 'c'"]


def test_words_in_a_column_of_numbers_are_named_with_their_lines(tmp_path):
    lines = [str(n) for n in range(100)]
    lines[10], lines[20], lines[30] = "NA", "?", "NA"
    error = refused(tmp_path, "n,m\n" + "".join(f"{n},{n}\n" for n in lines))
    path = tmp_path / "rows.csv"
    assert error.code == "HR-DATA-017"
    assert error.what == "columns 'n', 'm' of numbers hold words"
    assert error.seen == [
        f"n: 'NA' in 2 of 100 rows, first at {path}:12",
        f"n: '?' at {path}:22",
        f"m: 'NA' in 2 of 100 rows, first at {path}:12",
        f"m: '?' at {path}:22",
    ]


def test_nan_and_infinity_are_named_with_their_lines(tmp_path):
    error = refused(tmp_path, "n\n1.5\nnan\n-inf\nNaN\n1e39\n2\n")
    path = tmp_path / "rows.csv"
    assert error.code == "HR-DATA-016"
    assert error.what == "column 'n' of numbers holds NaN, infinity or values beyond float32"
    assert error.seen == [
        f"n: 'nan' at {path}:3",
        f"n: '-inf' at {path}:4",
        f"n: 'NaN' at {path}:5",
        f"n: '1e39' at {path}:6",
    ]


def test_the_schema_keeps_text_that_looks_like_numbers(tmp_path):
    path = write(tmp_path, "zip,n,x\n01234,1,7\n98765,2,8\nNA,3,9\n")
    table = read(path, declared={"zip": "BYTES", "x": "FLOAT"}).table
    assert table.to_pydict() == {"zip": [b"01234", b"98765", b"NA"], "n": [1, 2, 3], "x": [7.0, 8.0, 9.0]}
    assert str(table.schema.field("x").type) == "float"


def test_a_field_longer_than_any_block_of_arrows_default_is_read(tmp_path):
    long = "x" * 3_000_000
    assert read(write(tmp_path, f"a,b\n1,{long}\n2,y\n")).table["b"].to_pylist() == [long.encode(), b"y"]


def test_a_type_is_decided_on_all_rows_not_the_first_block(tmp_path):
    path = write(tmp_path, "n\n" + "1\n" * 300_000 + "1.5\n")
    assert str(read(path).table.schema.field("n").type) == "float"


def test_an_unreadable_file_is_a_matter_of_permission(tmp_path, another_user):
    path = write(tmp_path, "a,b\n1,2\n")
    read(path)
    path.chmod(0)
    with another_user(), pytest.raises(HeadraceError, match="HR-SYS-002") as caught:
        read(path)
    assert str(path) in caught.value.what
    assert caught.value.exit_code == 4
