"""One's own files: CSV, Parquet, NPZ. What is read must be what was written, or a clear line."""

from __future__ import annotations

import gzip
import io
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amongst.data import frames, load_csv, load_npz, load_parquet, read_table
from amongst.data.frames import open_table
from amongst.errors import AmongstWarning, DataNotFoundError, FileFormatError, InputError

CSV = "id,wing,weight,labels,true\na1,10,1.5,owl|kite,owl\nb2,12,1.1,kite,kite\nc3,9,0.5,emu | owl,emu\n"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    path = tmp_path / "birds.csv"
    path.write_text(CSV)
    return path


def write(tmp_path: Path, text: str, name: str = "own.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_in_full(birds: Path) -> None:
    table = read_table(birds, candidates="labels", truth="true", index="id")
    np.testing.assert_array_equal(table.features, [[10, 1.5], [12, 1.1], [9, 0.5]])
    assert table.feature_names == ("wing", "weight")
    assert table.candidates is not None
    assert table.candidates.to_lists() == [["kite", "owl"], ["kite"], ["emu", "owl"]]
    assert table.truth is not None
    assert table.truth.tolist() == ["owl", "kite", "emu"]
    assert table.index.tolist() == ["a1", "b2", "c3"]
    assert len(table) == 3


def test_without_labels_every_other_column_is_a_feature(birds: Path) -> None:
    table = read_table(birds, ignore=["id", "labels", "true"])
    assert table.candidates is None
    assert table.truth is None
    assert table.feature_names == ("wing", "weight")
    assert table.index.tolist() == [0, 1, 2]


def test_features_are_taken_in_the_order_asked_for(birds: Path) -> None:
    assert read_table(birds, features=["weight", "wing"]).features[0].tolist() == [1.5, 10]
    assert read_table(birds, features="weight").features.shape == (3, 1)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_delimiters_byte_order_mark_and_gzip(tmp_path: Path, delimiter: str, start: str) -> None:
    text = start + "a,b,labels\n1,2,x|y\n3,4,y\n".replace(",", delimiter)
    plain = write(tmp_path, text)
    packed = tmp_path / "own.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        table = load_csv(path, candidates="labels")
        assert table.feature_names == ("a", "b")
        assert table.candidates is not None
        assert table.candidates.to_lists() == [["x", "y"], ["y"]]


def test_whole_numbers_meet_their_true_labels(tmp_path: Path) -> None:
    path = write(tmp_path, "a,labels,true\n1,3|1,3\n2,1,1\n3,10|3,10\n")
    table = read_table(path, candidates="labels", truth="true")
    assert table.candidates is not None
    assert table.candidates.classes.tolist() == [1, 3, 10]
    assert table.truth is not None
    assert table.truth.tolist() == [3, 1, 10]


def test_leading_zeros_stay_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a,labels,true\n1,01|2,01\n2,2,2\n")
    table = read_table(path, candidates="labels", truth="true")
    assert table.candidates is not None
    assert table.candidates.classes.tolist() == ["01", "2"]
    assert table.truth is not None
    assert table.truth.tolist() == ["01", "2"]


def test_a_class_called_na_is_a_class_but_suspected(tmp_path: Path) -> None:
    path = write(tmp_path, "a,labels\n1,NA|x\n2,None\n")
    with pytest.warns(AmongstWarning, match="the label 'NA' looks like a missing answer"):
        sets = read_table(path, candidates="labels").candidates
    assert sets is not None
    assert sets.to_lists() == [["NA", "x"], ["None"]]


def test_annotators_and_their_missing_answers(tmp_path: Path) -> None:
    path = write(tmp_path, "f,anna,ben,cleo\n1,2,2.0,\n2,NA,7,3\n")
    sets = read_table(path, candidates=["anna", "ben", "cleo"]).candidates
    assert sets is not None
    assert sets.to_lists() == [[2], [3, 7]]


def test_mask_columns_and_the_switch_to_annotators(tmp_path: Path) -> None:
    path = write(tmp_path, "f,cat,dog\n1,1,1\n2,0,1\n")
    masked = read_table(path, candidates=["cat", "dog"]).candidates
    voted = read_table(path, candidates=["cat", "dog"], kind="annotators").candidates
    assert masked is not None
    assert masked.to_lists() == [["cat", "dog"], ["dog"]]
    assert voted is not None
    assert voted.to_lists() == [[1], [0, 1]]


def test_python_lists_in_cells(tmp_path: Path) -> None:
    path = write(tmp_path, "f,labels\n1,\"['a', 'b c']\"\n2,{'a'}\n")
    sets = read_table(path, candidates="labels").candidates
    assert sets is not None
    assert sets.to_lists() == [["a", "b c"], ["a"]]


def test_codes_with_zeros_in_front_stay_text_amongst_columns_of_any_kind(tmp_path: Path) -> None:
    """In a table of numbers alone they are numbers, as they were."""
    path = write(tmp_path, "zip,f,labels\n01067,1,a\n,2,b\n10115,3,a|b\n")
    codes = read_table(path, candidates="labels", mixed=True).frame["zip"].tolist()
    assert (codes[0], codes[2]) == ("01067", "10115")
    assert pd.isna(codes[1])
    path = write(tmp_path, "zip,f,labels\n01067,1,a\n02,2,b\n10115,3,a|b\n")
    assert read_table(path, candidates="labels").features[:, 0].tolist() == [1067, 2, 10115]


def test_other_separator_and_its_suspicion(tmp_path: Path) -> None:
    path = write(tmp_path, "f,labels\n1,a/b\n2,a\n")
    sets = read_table(path, candidates="labels", separator="/").candidates
    assert sets is not None
    assert sets.to_lists() == [["a", "b"], ["a"]]
    with pytest.warns(AmongstWarning, match="Is separator='/' meant"):
        read_table(path, candidates="labels")


def test_empty_set_is_refused_or_full(tmp_path: Path) -> None:
    path = write(tmp_path, "f,labels\n1,a|b\n2,\n")
    with pytest.raises(InputError, match=r"'labels'.*y\[1\] is an empty candidate set"):
        read_table(path, candidates="labels")
    sets = read_table(path, candidates="labels", empty="full").candidates
    assert sets is not None
    assert sets.sizes.tolist() == [2, 2]


label = st.text("abcXYZ 09é", min_size=1, max_size=4).map(str.strip).filter(bool)


@given(rows=st.lists(st.sets(label, min_size=1, max_size=3), min_size=1, max_size=8))
def test_what_is_written_comes_back(rows: list[set[str]]) -> None:
    import tempfile

    expected = [sorted(row) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame({"f": np.arange(len(rows)) / 7, "s": ["|".join(r) for r in expected]})
        frame.to_csv(Path(folder) / "t.csv", index=False)
        frame.assign(s=expected).to_parquet(Path(folder) / "t.parquet")
        for name in ("t.csv", "t.parquet"):
            table = read_table(Path(folder) / name, candidates="s", kind="auto")
            assert table.candidates is not None
            found = [sorted(map(str, row)) for row in table.candidates.to_lists()]
            assert found == expected
            np.testing.assert_array_equal(table.features[:, 0], frame["f"])


def test_parquet_of_lists_categories_and_small_floats(tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    frame = pd.DataFrame(
        {
            "a": np.array([1.5, 2.5], np.float32),
            "s": [["x", "y"], ["y"]],
            "t": pd.Categorical(["x", "y"]),
        }
    )
    frame.to_parquet(path)
    table = load_parquet(path, candidates="s", truth="t")
    assert table.features.dtype == np.float32
    assert table.candidates is not None
    assert table.candidates.to_lists() == [["x", "y"], ["y"]]
    assert table.truth is not None
    assert table.truth.tolist() == ["x", "y"]


def test_npz_of_masks_votes_and_images(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    mask = np.array([[1, 1, 0], [0, 1, 0]])
    votes = np.array([["x", "y"], ["z", "z"]])
    images = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    np.savez(path, X=images, S=mask, V=votes, T=np.array([0, 1]), text=np.array(["x|y", "z"]))
    table = load_npz(path, candidates="S", truth="T")
    assert table.features.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert table.features.dtype == np.float32
    assert table.candidates is not None
    assert table.candidates.to_lists() == [[0, 1], [1]]
    for key, expected in (("V", [["x", "y"], ["z"]]), ("text", [["x", "y"], ["z"]])):
        sets = load_npz(path, candidates=key).candidates
        assert sets is not None
        assert sets.to_lists() == expected


BAD_CSV = {
    "unknown column": ("a,labels\n1,x\n", {"candidates": "label"}, "did you mean 'labels'"),
    "unknown feature": ("a,labels\n1,x\n", {"features": ["aa"]}, "features: .* no column 'aa'"),
    "no label column": ("a,b\n1,2\n", {"candidates": "labels"}, "no column 'labels'"),
    "text feature": ("a,b,s\n1,red,x\n2,blue,x\n", {"candidates": "s"}, "'b' holds 'red' in row 0"),
    "mixed types": ("a,s\n1,x\n2,x\nn/k,y\n", {"candidates": "s"}, "holds 'n/k' in row 2"),
    "missing value": (
        "a,b,s\n1,2,x\n3,,x\n",
        {"candidates": "s"},
        r"'b' is empty \(NaN\) in row 1",
    ),
    "infinite": ("a,s\n1,x\ninf,x\n", {"candidates": "s"}, "'a' is infinite in row 1"),
    "no features": ("s\nx\n", {"candidates": "s"}, "no feature column left"),
    "nothing named": ("a,s\n1,x\n", {"candidates": []}, "candidates is empty"),
    "twice named": ("a,s\n1,x\n", {"candidates": "s", "features": ["s"]}, "name it once"),
    "truth missing": ("a,s,t\n1,x,\n", {"candidates": "s", "truth": "t"}, "row 0 is empty"),
    "truth outside": ("a,s,t\n1,x|y,z\n", {"candidates": "s", "truth": "t"}, "not among its cand"),
    "bad list": ('a,s\n1,"[x, y]"\n', {"candidates": "s"}, r"y\[0\] holds"),
    "unknown class": ("a,s\n1,x|q\n", {"candidates": "s", "classes": ["x"]}, "label 'q'"),
    "separator": ("a,s\n1,x\n", {"candidates": "s", "separator": ""}, "separator=''"),
    "kind": ("a,s\n1,x\n", {"candidates": "s", "kind": "maks"}, "did you mean 'mask'"),
}


@pytest.mark.parametrize(("text", "options", "message"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_bad_columns_are_named(tmp_path: Path, text: str, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_table(write(tmp_path, text), **options)
    assert "\n" not in str(caught.value)


BAD_FILES = {
    "empty file": (b"", r"is empty \(0 bytes\)"),
    "no rows": (b"a,b\n", "no rows"),
    "no header": (b"5.1,3.5\n4.9,3.0\n", "first line must name the columns"),
    "two names": (b"a,a\n1,2\n", "two columns named 'a'"),
    "blanks": (b"wing weight labels\n1.5 2 a|b\n", "has blanks between its columns. Save it again"),
    "of R": (b'"wing" "labels"\n"1" 1.5 "a|b"\n', "has blanks between its columns. Save it again"),
    "open quote": (b'wing,labels\n1.5,"a|b\n2.5,a\n', "opens a cell and is not closed"),
    "ragged": (
        b"a;b\n1;2\n1;x;y;z\n",
        "cannot be read as CSV: .*2 fields in line 3, saw 4.*between double quotes",
    ),
    "not text": (b"a,b\n\xff\xfe\x00,1\n", "Save it again as UTF-8"),
    "blank first line": (b"\na,b\n1,2\n", "empty first line"),
}


@pytest.mark.parametrize(("raw", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files_are_refused_in_one_line(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


WITHOUT_HEADER = {
    "labels": "5.1,3.5,owl|kite\n4.9,3.0,kite\n4.7,3.2,owl\n",
    "whole numbers": "5,3,owl\n4,3,owl\n",
    "a name for each row": "img_1,5.1,owl\nimg_2,4.9,owl\n",
    "a hole": "NA,3.5,owl\n4.9,3.0,owl\n",
    "answers": "owl,kite\nkite,kite\nowl,owl\n",
}
WITH_HEADER = {
    "years": "name,2019,2020\na,1,2\nb,2,3\n",
    "shares": "name,0.1,0.9\na,1,2\nb,2,3\n",
    "numbered": "0,1,labels\n5,3,owl\n4,3,owl\n",
    "an index": ",0,1\n0,5,3\n1,4,3\n",
    "a class": "owl,kite,labels\n1,0,owl\n0,1,kite\n",
    "a column of one word": "label\nlabel\nowl\n",
}


@pytest.mark.parametrize("text", WITHOUT_HEADER.values(), ids=WITHOUT_HEADER.keys())
def test_a_first_row_is_not_lost(tmp_path: Path, text: str) -> None:
    """It was taken for names, and a table of one row less came without a word."""
    path = write(tmp_path, text)
    with pytest.raises(FileFormatError) as caught:
        read_table(path)
    assert caught.value.code == "no-header"
    assert "--no-header" in caught.value.said("command")
    names = [str(at + 1) for at in range(text.partition("\n")[0].count(",") + 1)]
    file = open_table(path, header=False)
    assert file.names == tuple(names)
    assert len(file.parse(names, ())) == len(text.splitlines())
    assert len(open_table(path, header=True).parse((), ())) == len(text.splitlines()) - 1


@pytest.mark.parametrize("text", WITH_HEADER.values(), ids=WITH_HEADER.keys())
def test_odd_names_are_names(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert len(open_table(path).parse((), ())) == len(text.splitlines()) - 1


def test_a_file_without_names_trains_as_one_with(tmp_path: Path) -> None:
    bare = write(tmp_path, WITHOUT_HEADER["labels"])
    table = read_table(bare, header=False, candidates="3")
    named = tmp_path / "named.csv"
    named.write_text("a,b,labels\n" + bare.read_text())
    other = read_table(named, candidates="labels")
    assert np.array_equal(table.features, other.features)
    assert table.candidates == other.candidates
    assert table.feature_names == ("1", "2")


def test_true_label_outside_can_be_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "a,s,t\n1,x|y,z\n")
    table = read_table(path, candidates="s", truth="t", outside="keep")
    assert table.truth is not None
    assert table.truth.tolist() == ["z"]


def test_files_that_are_not_there_or_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="unknown ending"):
        read_table(write(tmp_path, "x", "own.xlsx"))
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        load_parquet(write(tmp_path, "x"))


@pytest.mark.parametrize("name", ["own.csv.gz", "own.parquet", "own.npz", "own.mat"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"this is none of these formats, whatever its name says" * 20)
    with pytest.raises(FileFormatError, match="cannot be read") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_npz_errors_say_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    np.savez(path, A=np.eye(2), B=np.eye(2), S=np.eye(3))
    with pytest.raises(InputError, match=r"which array.*A, B, S"):
        load_npz(path)
    with pytest.raises(InputError, match="candidates='Q' is not in"):
        load_npz(path, candidates="Q", features="A")
    with pytest.raises(
        InputError, match=r"candidates='S' is 3 × 3 .* there are 2 rows of features"
    ):
        load_npz(path, candidates="S", features="A")
    np.savez(path, X=np.eye(2), S=np.array([{1}, {2}], dtype=object))
    with pytest.raises(FileFormatError, match="not read for safety"):
        load_npz(path, candidates="S")


def test_a_damaged_npz_is_one_line_wherever_the_damage_is(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).integers(0, 9, (30, 4)))
    raw, refused = path.read_bytes(), 0
    for place in range(len(raw)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        try:
            load_npz(path, features="X")
        except (FileFormatError, InputError):
            refused += 1
    assert refused > len(raw) / 2
    for other in (b"hello", _npy(np.eye(2))):
        path.write_bytes(other)
        with pytest.raises(FileFormatError, match=r"no archive of arrays such as np\.savez writes"):
            load_npz(path)


def test_numbers_of_a_csv_are_exact(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 2)).tolist()
    text = "".join(f"{a!r},{b!r},owl\n" for a, b in rows)
    path = write(tmp_path, f"wing,weight,labels\n{text}")
    assert read_table(path, candidates="labels").features.tolist() == rows


@pytest.mark.parametrize(("version", "wanted"), [("3.0.6", "round_trip"), ("3.1.0", None)])
def test_a_pandas_that_misses_the_last_bit_is_asked_for_it(
    birds: Path, monkeypatch: pytest.MonkeyPatch, version: str, wanted: str | None
) -> None:
    """Since 3.1 the question is deprecated."""
    asked = []
    monkeypatch.setattr(pd, "__version__", version)

    def read_csv(*_: object, float_precision: str | None = None, **__: object) -> pd.DataFrame:
        asked.append(float_precision)
        return pd.DataFrame()

    monkeypatch.setattr(pd, "read_csv", read_csv)
    runpy.run_path(frames.__file__)["open_csv"](birds).parse((), ())
    assert asked == [wanted]


def test_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    """In files of columns and of arrays; the others keep their numbers, truth, and raters' weights."""
    path = write(tmp_path, "f,who,anna,ben,cat,t\n1,a,x,x,y,x\n2,b,,,,y\n,c,y,x,y,y\n3,d,,,,x\n")
    raters = ["anna", "ben", "cat"]
    options = {"candidates": raters, "truth": "t", "mixed": True, "raters": "one-coin"}
    with pytest.warns(AmongstWarning, match="2 rows of 4"):
        table = read_table(path, **options, ignore="who", empty="drop")
    assert table.candidates is not None
    assert table.candidates.to_lists() == [["x", "y"], ["x", "y"]]
    assert table.candidates.weights is not None
    assert table.candidates.answers is not None
    assert [table.index.tolist(), table.places.tolist()] == [[0, 2], [0, 2]]
    assert table.truth is not None
    assert (table.truth.tolist(), len(table.frame)) == (["x", "y"], 2)
    assert (table.told()["empty"], table.told()["raters"]) == ("drop", "one-coin")
    mask = np.array([[1, 0], [0, 0], [1, 1]])
    np.savez(tmp_path / "own.npz", X=np.eye(3), S=mask)
    with pytest.warns(AmongstWarning, match="1 row of 3"):
        found = load_npz(tmp_path / "own.npz", candidates="S", empty="drop")
    assert found.candidates is not None
    assert found.candidates.to_lists() == [[0], [0, 1]]
    assert found.features.tolist() == np.eye(3)[[0, 2]].tolist()
    np.savez(tmp_path / "none.npz", X=np.eye(3), S=0 * mask)
    with pytest.raises(InputError) as caught:
        load_npz(tmp_path / "none.npz", candidates="S", empty="drop")
    assert (caught.value.code, caught.value.argument) == ("no-labels", "candidates")
