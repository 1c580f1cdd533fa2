"""What a first user's files held, and how it was misread."""

from __future__ import annotations

import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from amongst import as_candidates
from amongst.data import read_table
from amongst.data.frames import open_table
from amongst.errors import AmongstWarning, FileFormatError, InputError

MASK = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]])
SETS = [[0, 1], [1], [2], [0, 2]]


def guess_candidates(path: Path) -> str | None:
    return open_table(path).guess()


def column_names(path: Path) -> list[str]:
    return list(open_table(path).names)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.csv"
    path.write_text(text, encoding="utf-8")
    return path


def sets_of(path: Path, *columns: str) -> list[list[object]]:
    found = read_table(path, candidates=columns[0] if len(columns) == 1 else columns).candidates
    assert found is not None
    return found.to_lists()


@pytest.mark.parametrize("words", [("True", "False"), ("TRUE", "FALSE"), ("1.0", "0"), ("1", "0")])
def test_columns_of_true_and_false_are_a_mask(tmp_path: Path, words: tuple[str, str]) -> None:
    yes, no = words
    path = write(tmp_path, f"f,cat,dog\n1.5,{yes},{yes}\n2.5,{no},{yes}\n")
    assert sets_of(path, "cat", "dog") == [["cat", "dog"], ["dog"]]
    votes = read_table(path, candidates=["cat", "dog"], kind="annotators").candidates
    assert votes is not None
    assert votes.sizes.tolist() == [1, 2]


def test_get_dummies_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    dummies = pd.get_dummies(pd.Series(["a", "b", "a"]))
    pd.concat([pd.Series([0.5, 1.5, 2.5], name="f"), dummies], axis=1).to_csv(path, index=False)
    assert sets_of(path, "a", "b") == [["a"], ["b"], ["a"]]


def test_annotators_cells_are_split(tmp_path: Path) -> None:
    path = write(tmp_path, 'f,anna,ben\n1.5,a|b,a\n2.5,c,\n3.5,"[""a""]",b | c\n')
    assert sets_of(path, "anna", "ben") == [["a", "b"], ["c"], ["a", "b", "c"]]
    path = write(tmp_path, "f,anna,ben\n1.5,a;b,a\n2.5,c,a\n")
    with pytest.warns(AmongstWarning, match="Is separator=';' meant"):
        sets_of(path, "anna", "ben")


CELLS = {
    "joined": ["x|y", "y", "z"],
    "json": ['["x", "y"]', '["y"]', '["z"]'],
    "python": ["['x', 'y']", "{'y'}", "('z',)"],
    "mixed": ["x|y", "['y']", "z"],
    "brackets in names": ["(x)|y", "y", "(x)"],
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS.keys())
@pytest.mark.parametrize("columns", [["s"], ["s", "t"]])
def test_both_doors_read_cells_alike(tmp_path: Path, cells: list[str], columns: list[str]) -> None:
    frame = pd.DataFrame({"f": [0.5, 1.5, 2.5]} | dict.fromkeys(columns, cells))
    frame.to_csv(tmp_path / "own.csv", index=False)
    frame.to_parquet(tmp_path / "own.parquet")
    expected = as_candidates(frame[columns]).to_lists()
    assert as_candidates(cells).to_lists() == expected
    assert sets_of(tmp_path / "own.csv", *columns) == expected
    assert sets_of(tmp_path / "own.parquet", *columns) == expected


def test_a_label_in_brackets_has_a_way_in(tmp_path: Path) -> None:
    path = write(tmp_path, "f,s\n1.5,[x]\n2.5,y\n")
    with pytest.raises(InputError, match=r"y\[0\] holds.*kind='labels'"):
        read_table(path, candidates="s")
    sets = read_table(path, candidates="s", kind="labels").candidates
    assert sets is not None
    assert sets.to_lists() == [["[x]"], ["y"]]


@pytest.mark.parametrize("index", [[0, 1, 2], [1, 2, 3], [2, 0, 1]])
@pytest.mark.parametrize("times", [1, 2])
def test_the_index_of_to_csv_is_no_feature(tmp_path: Path, index: list[int], times: int) -> None:
    path = tmp_path / "own.csv"
    frame = pd.DataFrame({"f": [0.5, 1.5, 2.5], "s": ["a|b", "a", "b"]}, index=index)
    frame.to_csv(path)
    if times == 2:
        pd.read_csv(path).to_csv(path, index=False)
    with pytest.warns(AmongstWarning, match="looks like the row numbers.*left out"):
        table = read_table(path, candidates="s")
    assert table.feature_names == ("f",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, features=["f"]).feature_names == ("f",)
        named = read_table(path, candidates="s", index="Unnamed: 0")
    assert named.feature_names == ("f",)
    assert named.index.tolist() == index


def test_an_unnamed_column_that_does_not_count_stays_with_a_word(tmp_path: Path) -> None:
    with pytest.warns(AmongstWarning, match="taken as a feature"):
        table = read_table(write(tmp_path, ",f\n17,0.5\n3,1.5\n"))
    assert table.feature_names == ("Unnamed: 0", "f")
    assert read_table(write(tmp_path, ",f\n0.25,0.5\n3,1.5\n")).features.shape == (2, 2)
    assert read_table(write(tmp_path, "n,f\n0,0.5\n1,1.5\n")).feature_names == ("n", "f")


@pytest.mark.parametrize("cell", ['"a,b"', "a;b", "a"])
def test_text_without_named_candidates_says_how_to_name_them(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path, f"f,species\n1.5,{cell}\n2.5,c\n")
    assert guess_candidates(path) is None
    with pytest.raises(
        InputError, match=r"if 'species' holds the candidate labels, pass candidates='species'"
    ):
        read_table(path)


def test_with_named_candidates_text_is_only_text(tmp_path: Path) -> None:
    path = write(tmp_path, "f,colour,s\n1.5,red,a|b\n")
    with pytest.raises(InputError, match="candidate labels, pass candidates"):
        read_table(path)
    with pytest.raises(InputError, match="Encode them as numbers") as caught:
        read_table(path, candidates="s")
    assert "candidate labels" not in str(caught.value)


def test_lists_as_text_are_plainly_candidates(tmp_path: Path) -> None:
    assert guess_candidates(write(tmp_path, 'f,s\n1.5,"[""a"", ""b""]"\n2.5,"[""c""]"\n')) == "s"
    assert guess_candidates(write(tmp_path, "f,s\n1.5,(none)\n2.5,b\n")) is None


def test_more_cells_than_names(tmp_path: Path) -> None:
    for text in ("a,b\n1,2,7\n3,4,8\n", "# by hand\na,b\n1,2\n"):
        with pytest.raises(FileFormatError, match="first line must name every column"):
            read_table(write(tmp_path, text))


def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 2))


@pytest.mark.parametrize("name", ["X", "x", "features", "data", "fea"])
def test_npz_with_an_array_of_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "own.npz"
    np.savez(path, **{name: features(), "Y": MASK})
    assert column_names(path) == [name, "Y"]
    assert sets_of(path, "Y") == SETS
    assert guess_candidates(path) == ("Y" if name != "fea" else None)


def test_npz_guesses_only_where_it_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    np.savez(path, X=features(), Y=MASK, Z=MASK)
    assert guess_candidates(path) is None
    np.savez(path, X=features(), y=np.arange(4), Z=features(), k=3)
    assert guess_candidates(path) is None
    np.savez(path, X=features(), Y=MASK, labels=np.array(["a", "b", "a|b", "c"]))
    assert guess_candidates(path) == "labels"


@pytest.mark.parametrize("matrix", [MASK, MASK.T, sp.csc_matrix(MASK.T.astype(float))])
@pytest.mark.parametrize("name", ["X", "features", "data"])
def test_mat_with_other_keys(tmp_path: Path, name: str, matrix: object) -> None:
    path = tmp_path / "own.mat"
    scipy.io.savemat(path, {name: features(), "Y": matrix})
    assert column_names(path) == [name, "Y"]
    assert guess_candidates(path) == "Y"
    table = read_table(path, candidates="Y")
    np.testing.assert_array_equal(table.features, features())
    assert table.candidates is not None
    assert table.candidates.to_lists() == SETS
    assert read_table(path).candidates is None


def test_mat_in_the_layout_of_the_field_is_left_to_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "own.mat"
    scipy.io.savemat(path, {"data": features(), "partial_target": MASK.T, "X": np.eye(4)})
    assert guess_candidates(path) is None
    table = read_table(path)
    assert table.features.shape == (4, 2)


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (["007", "010"], ["007", "010"]),
        (["NA", "1e5"], ["NA", "1e5"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["3", "-4"], [3, -4]),
        (["12345678901234567890123", "2"], [12345678901234567890123, 2]),
    ],
)
def test_names_of_rows_stay_as_they_are_written(
    tmp_path: Path, names: list[str], read: list[object]
) -> None:
    path = write(tmp_path, f"id,f,s\n{names[0]},1,a|b\n{names[1]},2,b\n")
    assert read_table(path, candidates="s", index="id").index.tolist() == read


def test_spaces_after_commas_do_not_put_quotes_into_labels(tmp_path: Path) -> None:
    path = write(tmp_path, 'f, g, s, t\n1, 2, "owl|kite", "owl"\n3, 4, kite, kite \n')
    table = read_table(path, candidates="s", truth="t")
    assert table.feature_names == ("f", "g")
    assert table.candidates is not None
    assert table.candidates.to_lists() == [["kite", "owl"], ["kite"]]
    assert table.truth is not None
    assert table.truth.tolist() == ["owl", "kite"]


def test_numbers_are_text_where_the_classes_are(tmp_path: Path) -> None:
    """Of the classes 1, 2 and 3x a few rows may hold the first two only."""
    path = write(tmp_path, "f,s\n1,1|2\n2,2\n")
    found = read_table(path, candidates="s", classes=["1", "2", "3x"]).candidates
    assert found is not None
    assert found.to_lists() == [["1", "2"], ["2"]]
    wrong = write(tmp_path, "f,s\n1,1|2\n2,x\n")
    with pytest.raises(InputError, match=r"y\[1\] contains the label 'x'"):
        read_table(wrong, candidates="s", classes=[1, 2])


def test_a_mask_with_an_empty_cell_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, "f,owl,kite\n1,1,0\n2,,1\n")
    with pytest.warns(AmongstWarning, match="0/1 matrix.*fill in the empty cells"):
        read_table(path, candidates=["owl", "kite"])


def test_a_feature_is_named_once(tmp_path: Path) -> None:
    path = write(tmp_path, "f,s\n1,a|b\n2,b\n")
    with pytest.raises(InputError, match="name it once"):
        read_table(path, candidates="s", features=["f", "f"])


def test_times_are_no_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"f": [1.0, 2.0], "when": pd.to_datetime(["2024-05-01"] * 2), "s": "a|b"})
    frame.to_parquet(tmp_path / "own.parquet")
    with pytest.raises(InputError, match="'when' holds Timestamp"):
        read_table(tmp_path / "own.parquet", candidates="s")


def test_options_hold_for_arrays_too(tmp_path: Path) -> None:
    """A column of true labels, names of rows, and rows without information."""
    mask, own = MASK.copy(), {"id": [[7], [8], [9], [5]]}
    mask[1] = 0
    scipy.io.savemat(tmp_path / "own.mat", {"data": np.eye(4), "partial_target": mask.T, **own})
    np.savez(tmp_path / "own.npz", data=np.eye(4), partial_target=mask, **own)
    for name in ("own.mat", "own.npz"):
        table = read_table(tmp_path / name, candidates="partial_target", index="id", empty="full")
        assert table.candidates is not None
        assert table.candidates.to_lists() == [SETS[0], [0, 1, 2], *SETS[2:]]
        assert table.index.tolist() == [7, 8, 9, 5]
        with pytest.raises(InputError, match="index='no' is not in"):
            read_table(tmp_path / name, candidates="partial_target", index="no", empty="full")
    np.savez(tmp_path / "own.npz", X=np.eye(4), S=MASK, y=[[1], [1], [2], [0]], hot=MASK)
    truth = read_table(tmp_path / "own.npz", candidates="S", truth="y").truth
    assert truth is not None
    assert truth.tolist() == [1, 1, 2, 0]
    with pytest.raises(InputError, match="truth='hot' gives row 0 2 true labels"):
        read_table(tmp_path / "own.npz", candidates="S", truth="hot")


def test_a_column_that_numbers_the_rows_is_said(tmp_path: Path) -> None:
    """An id told the order of the rows, and with it, in a sorted file, their labels."""
    n = 30
    frame = pd.DataFrame({"wing": np.arange(n) / 7, "count": np.arange(n) % 9, "labels": "a|b"})
    path = tmp_path / "own.csv"
    for ids in (range(1, n + 1), np.random.default_rng(0).permutation(n), np.arange(n) ** 2 + 5):
        frame.assign(id=ids).to_csv(path, index=False)
        with pytest.warns(
            AmongstWarning, match="column 'id' seems to number the rows.*ignore='id'"
        ):
            assert "id" in read_table(path, candidates="labels").feature_names
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "id" not in read_table(path, candidates="labels", ignore="id").feature_names
            named = read_table(path, candidates="labels", features=["id", "wing"])
            assert named.feature_names == ("id", "wing")
    frame.assign(id=np.arange(n))[:15].to_csv(path, index=False)
    assert len(read_table(path, candidates="labels")) == 15


def test_large_labels_beside_a_missing_one_stay_whole(tmp_path: Path) -> None:
    """pandas makes floats of whole numbers with holes: 2^53 + 1 and its neighbour were one label."""
    parquet = pytest.importorskip("pyarrow.parquet")
    large = 2**53 + 1
    columns = {"wing": [1.5, 2.5], "anna": [large, large - 1], "ben": [large, None]}
    parquet.write_table(pytest.importorskip("pyarrow").table(columns), tmp_path / "own.parquet")
    sets = sets_of(tmp_path / "own.parquet", "anna", "ben")
    assert sets == [[large], [large - 1]]


def test_a_name_of_two_words_stands_over_one_value(tmp_path: Path) -> None:
    path = write(tmp_path, "wing length\n1.5\n2.5\n")
    assert read_table(path).feature_names == ("wing length",)


def test_a_decimal_comma_may_have_any_blank_beside_it(tmp_path: Path) -> None:
    """A separator of units, which Python calls a blank and pandas does not, was a bare ValueError."""
    path = write(tmp_path, "wing;labels\n1,5\x1f;a|b\n2,5\N{NO-BREAK SPACE};a\n")
    assert read_table(path, candidates="labels").features.tolist() == [[1.5], [2.5]]


def test_damaged_notes_of_pandas_are_told(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"wing": [1.5]}).replace_schema_metadata({"pandas": "{"})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "own.parquet")
    with pytest.raises(FileFormatError, match="cannot be read as Parquet"):
        read_table(tmp_path / "own.parquet")


def test_holes_in_whole_numbers_are_named_still(tmp_path: Path) -> None:
    frame = pd.DataFrame({"eggs": pd.array([None, *range(29)], dtype="Int64"), "labels": "a|b"})
    frame.to_parquet(tmp_path / "own.parquet")
    with pytest.raises(InputError, match="column 'eggs' is empty"):
        read_table(tmp_path / "own.parquet", candidates="labels")


def test_decimal_commas_between_semicolons_are_read(tmp_path: Path) -> None:
    """As Excel writes them where the decimal sign is a comma; labels stay what they are."""
    rows = "-1,5;3;1,5|2;2\n,25e1;4;1,5;\n7;;2;2,75\n"
    path = write(tmp_path, f"wing;note;labels;tail\n{rows}")
    table = read_table(path, candidates="labels", features=["wing"])
    assert table.features.tolist() == [[-1.5], [2.5], [7.0]]
    assert table.candidates.classes.tolist() == ["1,5", "2"]
    with pytest.raises(InputError, match="column 'note' is empty"):
        read_table(path, candidates="labels")


@pytest.mark.parametrize("delimiter", [";", ","])
@pytest.mark.parametrize("cell", ["1,5", "-2,25e3", "1,234,567.5"])
def test_a_number_with_a_comma_is_seen_for_what_it_is(
    tmp_path: Path, cell: str, delimiter: str
) -> None:
    """Where a comma may mark thousands, or decimals beside decimal points."""
    lines = ["wing;tail;labels", f'"{cell}";3.5;a|b', f'"{cell}";4;a', ""]
    path = write(tmp_path, "\n".join(lines).replace(";", delimiter))
    with pytest.raises(InputError, match=r"in row 0\. Write numbers without a comma, decimals"):
        read_table(path, candidates="labels")
    path = write(tmp_path, "wing;note;labels\n1.5;a,b;a|b\n2.5;c;a\n")
    with pytest.raises(InputError, match=r"'note' holds 'a,b' in row 0\. Encode them"):
        read_table(path, candidates="labels")


@pytest.mark.parametrize("end", [";", ";;", "; "])
def test_lines_that_end_in_a_delimiter_have_no_column_there(tmp_path: Path, end: str) -> None:
    path = write(tmp_path, f"wing;labels{end}\n1.5;a|b{end}\n2.5;a{end}\n")
    table = read_table(path, candidates="labels")
    assert table.feature_names == ("wing",)
    assert column_names(path) == ["wing", "labels"]
    kept = write(tmp_path, "wing;labels;\n1.5;a|b;3\n2.5;a;4\n")
    assert len(read_table(kept, candidates="labels").feature_names) == 2


def test_one_column_with_holes_is_not_several(tmp_path: Path) -> None:
    path = write(tmp_path, "wing,weight,labels\n1.5,2,a|b\n2.5,,a\n")
    with pytest.raises(InputError, match=r"'weight' is empty \(NaN\) in row 1\. Fill"):
        read_table(path, candidates="labels")


def test_a_spreadsheet_has_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "own.xlsx").write_bytes(b"PK")
    for look in (read_table, guess_candidates, column_names):
        with pytest.raises(InputError, match=r"unknown ending.*Save a spreadsheet as CSV"):
            look(tmp_path / "own.xlsx")


def test_a_name_of_two_lines_leaves_the_columns_after_it_as_they_are(tmp_path: Path) -> None:
    """Labels behind it were read as numbers: 01 and 1 became one class."""
    path = write(tmp_path, '"wing\n(mm)",labels\n1.5,01\n2.5,1\n3.5,None\n')
    table = read_table(path, candidates="labels")
    assert table.feature_names == ("wing\n(mm)",)
    assert table.candidates is not None
    assert table.candidates.to_lists() == [["01"], ["1"], ["None"]]


def test_decimals_of_a_data_base_are_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"price": [Decimal("1.25"), Decimal("2.50")], "labels": ["a|b", "a"]})
    frame.to_parquet(tmp_path / "own.parquet")
    table = read_table(tmp_path / "own.parquet", candidates="labels")
    assert table.features.tolist() == [[1.25], [2.5]]


def test_weights_of_classes_are_no_labels(tmp_path: Path) -> None:
    """Three columns of probabilities were read as annotators, and every number as a class."""
    path = tmp_path / "soft.csv"
    path.write_text("x,owl,kite,wren\n1.5,0.5,0.5,0\n0.5,1,0,0\n2.5,0,0.25,0.75\n")
    soft = read_table(path, candidates=["owl", "kite", "wren"]).candidates
    assert soft is not None
    assert soft.to_dicts()[2] == {"kite": 0.25, "wren": 0.75}
    sets = read_table(path, candidates=["owl", "kite"], kind="annotators").candidates
    assert sets is not None
    assert sets.n_classes == 4


def test_bars_between_columns_are_told_from_bars_between_labels(tmp_path: Path) -> None:
    """The whole line was one column of candidate labels, and no feature was left."""
    path = tmp_path / "birds.csv"
    path.write_text("wing|weight|seen\n1|2|owl/kite\n3|4|owl\n")
    with pytest.raises(FileFormatError, match=r"has \| between its columns.*commas, semicolons"):
        read_table(path)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_an_array_without_rows_is_told(tmp_path: Path, shape: tuple[int, int]) -> None:
    """It was a traceback of NumPy, or a table of nothing."""
    np.savez(tmp_path / "own.npz", X=np.zeros(shape))
    scipy.io.savemat(tmp_path / "own.mat", {"data": np.zeros(shape)})
    for name in ("own.npz", "own.mat"):
        with pytest.raises(FileFormatError, match="has no rows or no columns"):
            read_table(tmp_path / name)
