"""The page: self-contained, well formed, escaped, small; and the command that writes it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from amongst.bench import Record, Trial
from amongst.bench.payload import pack_curve, payload, script_json
from amongst.bench.places import Place
from amongst.bench.plans import Plan, Request, make_plan, reproduce_command
from amongst.bench.render import to_csv
from amongst.bench.report import build_report, read_report, to_html
from amongst.bench.store import Store
from amongst.bench.tables import collect
from amongst.bench.words import overview
from amongst.errors import AmongstError, InputError

Maker = Callable[..., list[Record]]
VOID = {"meta", "link", "br"}
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{title}}"


class Checker(HTMLParser):
    """Counts elements, and complains about what does not close or repeats an id."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    return checker


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture
def table1(synthetic: Maker) -> tuple[Plan, list[Record]]:
    plan = make_plan(Request("table1"))
    return plan, synthetic(plan)


def test_a_page_for_table_one_is_whole_light_and_alone(table1: tuple[Plan, list[Record]]) -> None:
    plan, records = table1
    page = to_html(build_report(records, [plan]))
    assert len(page.encode()) < 1_000_000
    checker = checked(page)
    assert {"summary", "tables", "curves", "trials", "environment"} <= set(checker.ids)
    assert checker.tags.count("script") == 2
    outside = re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"']*", page)
    assert set(outside) == {"http://www.w3.org/2000/svg"}
    assert not [v for n, v in checker.attributes if n == "src"]
    data = data_of(page)
    assert len(data["trials"]["key"]) == 300
    assert len(data["tables"][0]["cells"]) == 60


def test_the_policy_admits_this_script_and_no_other(table1: tuple[Plan, list[Record]]) -> None:
    plan, records = table1
    page = html.unescape(to_html(build_report(records, [plan])))
    script = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_ours_and_the_papers_stand_in_the_table_without_a_script(
    table1: tuple[Plan, list[Record]],
) -> None:
    plan, records = table1
    report = build_report(records, [plan])
    page = to_html(report)
    for entry in report.tables[0].filled:
        assert f'<span class="mean">{entry.mean:.2f}</span>' in page
        assert entry.published is not None
        assert f"{entry.published.mean:.2f}<span" in page


def evil_records() -> list[Record]:
    return [
        Record(
            Trial(EVIL, EVIL, EVIL + method, EVIL, seed, settings={EVIL: EVIL}),
            {"accuracy_last10": 0.5 + 0.1 * seed, EVIL: 0.5},
            {EVIL: (1.0, 2.0)},
            device=EVIL,
            versions={EVIL: EVIL},
            revision=EVIL,
            created=EVIL,
            error=EVIL if seed == 2 else "",
        )
        for seed in range(3)
        for method in "ab"
    ]


def test_text_from_data_stays_text() -> None:
    page = to_html(build_report(evil_records(), source=EVIL), title=EVIL)
    checker = checked(page)
    assert checker.tags.count("script") == 2
    assert "img" not in checker.tags
    assert not [name for name, _ in checker.attributes if name.startswith("on")]
    data = data_of(page)
    assert EVIL in data["settings"][0]
    assert data["trials"]["device"][0] == EVIL


@settings(deadline=None, max_examples=40)
@given(
    st.recursive(
        st.text() | st.integers(-5, 5) | st.none(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_json_in_a_script_round_trips_and_cannot_end_it(value: Any) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def unpacked(curve: dict[str, Any]) -> np.ndarray:
    steps = np.frombuffer(base64.b64decode(curve["b"]), "<u2").astype(float)
    steps[steps == 65535] = np.nan
    return curve["lo"] + steps / 65534 * (curve["hi"] - curve["lo"])


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32) | st.just(float("nan")), min_size=1, max_size=300),
    st.integers(2, 120),
)
def test_a_packed_curve_keeps_its_ends_and_its_values(values: list[float], points: int) -> None:
    back = unpacked(pack_curve(values, points))
    assert len(back) == min(len(values), points)
    n, m = len(values), len(back)
    kept = [int(np.floor(i * (n - 1) / max(1, m - 1) + 0.5)) for i in range(m)]
    step = (np.nanmax(values) - np.nanmin(values)) / 65534 if not np.isnan(values).all() else 0
    size = np.nanmax(np.abs(values)) if not np.isnan(values).all() else 0
    np.testing.assert_allclose(back, np.array(values)[kept], atol=step + 1e-6 * size + 1e-12)


def test_a_store_of_thousands_stays_readable(synthetic: Maker) -> None:
    """A searched grid: curves of the chosen trials come first, the rest while they fit."""
    plan = make_plan(Request("table1", datasets=("mnist",), search="grid", seeds=2))
    records = synthetic(plan, epochs=60)
    report = build_report(records, [plan])
    page = to_html(report)
    data = data_of(page)
    chosen = {i for cell in data["tables"][0]["cells"] for i in cell["trials"]}
    assert len(records) > 1000
    assert all(data["trials"]["curves"][i] for i in chosen)
    assert len(page) < 1_500_000


@pytest.mark.parametrize("name", ["table1", "table2", "figure1", "beyond"])
def test_the_command_of_a_cell_leads_back_to_its_trials(name: str) -> None:
    plan = make_plan(Request(name, seeds=2, epochs=7, protocol="paper"))
    for cell in plan.cells[:: max(1, len(plan.cells) // 7)]:
        slot = cell.slot
        place = Place(slot.dataset, slot.condition, slot.method, slot.model, slot.variant)
        words = shlex.split(reproduce_command(plan, place))
        assert words[:3] == ["amongst", "reproduce", name]
        options = dict(zip(words[3::2], words[4::2], strict=True))
        again = make_plan(
            Request(
                name,
                datasets=(options["--datasets"],),
                methods=(options["--methods"],),
                conditions=(options["--conditions"],),
                seeds=int(options["--seeds"]),
                epochs=int(options["--epochs"]),
                protocol=options["--protocol"],
            )
        )
        assert {t.key for t in cell.trials} <= {t.key for t in again.trials}


def test_the_command_of_a_cell_names_a_criterion_only_where_it_chooses() -> None:
    """Without a search the command line refuses one; a stored request always has it."""
    told = [
        reproduce_command(make_plan(Request("demo", search=search, criterion="risk")))
        for search in ("published", "grid")
    ]
    assert [" --criterion risk" in command for command in told] == [False, True]


def test_a_store_knows_its_plans(synthetic: Maker, tmp_path: Path) -> None:
    request = Request("demo", methods=("rc", "cc"), seeds=2)
    stray = Record(Trial("mine", "real", "rc", "mlp", 0), {"accuracy_final": 0.7})
    with Store(tmp_path / "runs.sqlite") as store:
        store.add_request(request.to_dict())
        store.add_all([*synthetic(make_plan(request), epochs=5), stray])
    report = read_report(tmp_path / "runs.sqlite")
    assert [table.plan.request.plan for table in report.tables] == ["demo", "demo"]
    assert report.tables[1].plan.title == "Other results"
    assert report.tables[1].filled[0].mean == pytest.approx(70)
    assert "runs.sqlite" in to_html(report)


def _two_versions(plan: Plan) -> list[Record]:
    """All folds on the data as they were, and one fold on the data as they are now."""
    old, new = plan.bind({"birds": "a" * 64}, {}), plan.bind({"birds": "b" * 64}, {})
    before = [Record(t, {"accuracy_last10": 0.9}, created="2026-01-01") for t in old.trials]
    now = [Record(t, {"accuracy_last10": 0.5}, created="2026-01-02") for t in new.trials[:1]]
    return [*now, *before]


@pytest.mark.parametrize("asked", [True, False])
def test_data_that_changed_have_a_table_of_their_own(asked: bool) -> None:
    """No cell mixes folds of a file before and after it was edited."""
    plan = make_plan(Request("compare", datasets=("birds",), methods=("rc",), folds=3))
    report = build_report(_two_versions(plan), [plan] if asked else [])
    titles = [table.plan.title.split(" (")[1] for table in report.tables]
    assert titles == ["data aaaaaaaa)", "data bbbbbbbb)"]
    assert [table.filled[0].values for table in report.tables] == [(90.0,) * 3, (50.0,)]
    checked(to_html(report))
    assert overview(report.records, report.tables).figures[0][:2] == ("4", "of 6")
    named = [to_csv(table).splitlines()[1].split(",")[1] for table in report.tables]
    assert named == [table.plan.title for table in report.tables]


def test_an_export_makes_the_same_figures(synthetic: Maker, tmp_path: Path) -> None:
    request = Request("table1", datasets=("mnist",), seeds=2)
    with Store(tmp_path / "runs.sqlite") as store:
        store.add_request(request.to_dict())
        store.add_all(synthetic(make_plan(request), epochs=5))
        store.export(tmp_path / "runs.csv", curves=True)
    one = read_report(tmp_path / "runs.sqlite").tables[0]
    two = read_report(tmp_path / "runs.csv").tables[0]
    assert {p: e.mean for p, e in one.entries.items()} == pytest.approx(
        {p: e.mean for p, e in two.entries.items()}
    )
    assert two.published


def test_ones_own_data_without_true_labels_has_a_report(synthetic: Maker) -> None:
    metric = "approximated_test_last10"
    request = Request("compare", datasets=("birds",), methods=("rc", "cc"), folds=3, metric=metric)
    plan = make_plan(request)
    records = [
        Record(trial, {metric: 0.6 + 0.01 * (trial.fold or 0) + 0.1 * (trial.method == "cc")})
        for trial in plan.trials
    ]
    report = build_report(records, [plan])
    assert [round(entry.mean, 1) for entry in report.tables[0].filled] == [61.0, 71.0]
    page = to_html(report)
    checked(page)
    assert "candidate sets alone" in page
    assert "amongst compare path/to/birds --methods rc" in " ".join(data_of(page)["commands"])


def test_the_summary_counts_and_warns(table1: tuple[Plan, list[Record]]) -> None:
    plan, records = table1
    failed = Record(records[0].trial, error="NaN", revision="other")
    report = build_report([failed, *records[1:]], [plan])
    told = overview(report.records, report.tables)
    assert told.figures[0] == ("300", "of 300", "planned trials finished")
    assert told.figures[1] == ("60", "of 60", "cells with a result")
    near = sum(entry.agrees for entry in report.tables[0].filled)
    assert told.figures[2][:2] == (str(near), "of 60")
    assert "1 of 300 trials failed: they diverged, or their method refused the data." in told.alerts
    assert "Results come from 2 revisions of the software." in told.alerts


def test_payload_is_plain_json_even_with_gaps() -> None:
    records = [Record(Trial("mine", "real", "rc", "mlp", 0), error="NaN at epoch 1")]
    report = build_report(records)
    data = payload(report.records, report.tables)
    assert json.loads(script_json(data)) == json.loads(json.dumps(data))
    checked(to_html(report))


def test_an_empty_store_is_said_so(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.sqlite"):
        pass
    with pytest.raises(InputError, match="empty"):
        read_report(tmp_path / "runs.sqlite")
    with pytest.raises(AmongstError):
        read_report(tmp_path / "nowhere.sqlite")


def one_record(**metrics: float) -> Record:
    return Record(Trial("lost", "real", "rc", "linear", 0, fold=0), metrics)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("accuracy_finl", r"^metric='accuracy_finl' is unknown; did you mean 'accuracy_final'\?"),
        (
            "risk_val",
            r"^metric='risk_val' is not in the shares that .* from: accuracy_final\.$",
        ),
    ],
)
def test_a_metric_that_no_table_can_show_is_refused(
    tmp_path: Path, metric: str, words: str
) -> None:
    records = [one_record(accuracy_final=0.9, risk_val=0.3)]
    with Store(tmp_path / "runs.sqlite") as store:
        store.add_all(records)
    with pytest.raises(InputError, match=words):
        read_report(tmp_path / "runs.sqlite", metric=metric)
    with pytest.raises(InputError, match=words):
        build_report(records, metric=metric)
    with pytest.raises(InputError, match=words):
        collect(records, make_plan(Request("table2", datasets=("lost",))), metric=metric)


def test_results_without_any_value_of_the_metric_say_which_they_have() -> None:
    with pytest.raises(
        InputError, match=r"'accuracy_final' has no value .* have covering_val; choose"
    ):
        build_report([one_record(covering_val=0.9)])
    assert build_report([one_record(covering_val=0.9)], metric="covering_val").tables[0].filled


def test_the_papers_accuracy_stands_beside_accuracies_only() -> None:
    records = [one_record(accuracy_final=0.9, covering_val=0.9)]
    assert build_report(records, metric="accuracy_final").tables[0].published
    assert not build_report(records, metric="covering_val").tables[0].published


@pytest.fixture
def app() -> Any:
    import typer

    from amongst.cli.results import report

    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(report)
    return app


@pytest.fixture
def store(synthetic: Maker, tmp_path: Path) -> Path:
    request = Request("demo", methods=("rc", "cc", "lw-sigmoid"))
    with Store(tmp_path / "runs.sqlite") as kept:
        kept.add_request(request.to_dict())
        kept.add_all(synthetic(make_plan(request), epochs=12))
    return tmp_path / "runs.sqlite"


def test_the_command_writes_every_form(app: Any, store: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = {"--html": "r.html", "--markdown": "r.md", "--latex": "r.tex", "--csv": "r.csv"}
    options = [word for name, file in names.items() for word in (name, str(tmp_path / file))]
    done = CliRunner().invoke(
        app, [str(store), *options, "--figures", str(tmp_path / "f"), "--holm"]
    )
    assert done.exit_code == 0, done.output
    assert all((tmp_path / file).stat().st_size > 300 for file in names.values())
    assert list((tmp_path / "f").glob("*.svg"))
    assert "Holm over" in (tmp_path / "r.md").read_text()
    checked((tmp_path / "r.html").read_text())


def test_without_a_file_the_terminal_shows_the_table(app: Any, store: Path) -> None:
    done = CliRunner().invoke(app, [str(store)])
    assert done.exit_code == 0, done.output
    assert "LW-Sigmoid" in done.output
    assert "--html FILE" in done.output


def test_mistakes_are_said_before_anything_is_computed(
    app: Any, store: Path, tmp_path: Path
) -> None:
    for options, words in (
        (["--html", str(tmp_path)], "is a folder"),
        (["--html", str(tmp_path / "no" / "r.html")], "make it first"),
        (["--figures", str(store)], "is a file"),
    ):
        done = CliRunner().invoke(app, [str(store), *options])
        assert isinstance(done.exception, InputError)
        assert words in str(done.exception)


def test_tables_of_one_plan_are_told_apart_by_what_was_asked(synthetic: Maker) -> None:
    """Seven comparisons of one file were seven tables of one title."""
    few = Request("demo", methods=("rc", "cc"), seeds=2)
    plans = [make_plan(r) for r in (few, replace(few, seeds=3), replace(few, search="grid"))]
    records = {r.key: r for plan in plans for r in synthetic(plan, epochs=2)}
    titles = [table.plan.title for table in build_report(records.values(), plans).tables]
    lead = "Demo: scikit-learn's digits"
    assert titles == [f"{lead} (seeds 2, search published)", f"{lead} (seeds 3, search published)",
                      f"{lead} (seeds 2, search grid)"]  # fmt: skip
    (alone,) = build_report(records.values(), plans[:1]).tables[:1]
    assert alone.plan.title == lead
