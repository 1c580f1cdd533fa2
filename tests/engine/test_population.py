"""A population equals its members trained alone, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, PopulationResult, train_population
from amongst.algorithms import CC, CLPL, LW, PRODEN, RC, Average, Method, Minimum
from amongst.errors import InputError
from amongst.losses import PSIS
from amongst.metrics import accuracy, covering_rate
from amongst.models import build_model
from amongst.train import Features, Settings, TrainingData, Watch, split_seed, train

N, D, K = 51, 6, 4
WIDTHS = {"widths": (8, 7)}
PRECISE = {"float64": {"rtol": 1e-9, "atol": 1e-11}, "float32": {"rtol": 2e-3, "atol": 2e-5}}

METHODS: list[Method] = [
    *(LW(psi=psi.name, beta=0.5, alpha=1.5) for psi in PSIS.values() if psi.trainable),
    *(LW(psi="sigmoid", refresh=when, beta=2.0) for when in ("same", "post", "epoch")),
    LW(initial="official", refresh="post", beta=8.0),
    LW(beta=8.0, fade=0.7),
    RC(),
    CC(),
    PRODEN(),
    Average(),
    Average(psi="sigmoid"),
    Minimum(),
    Minimum(psi="hinge"),
    CLPL(),
    CLPL(form="mean"),
]


def features(seed: int = 0, n: int = N) -> Features:
    generator = torch.Generator().manual_seed(seed)
    return Features(torch.randn(n, D, generator=generator))


def masks(seed: int, n: int = N, k: int = K) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    inside = torch.rand(n, k, generator=generator) < 0.4
    inside[torch.arange(n), torch.randint(k, (n,), generator=generator)] = True
    return inside


def alone(
    member: Member, data: Features, model: object = "mlp", **options: object
) -> tuple[nn.Module, list[dict[str, float]], Tensor | None]:
    """What the single engine makes of a member."""
    dtype = torch.float64 if member.settings.precision == "float64" else torch.float32
    data = data.to("cpu", dtype)
    inside = member.inside
    if member.rows is not None:
        data, inside = replace(data, values=data.values[member.rows]), inside[member.rows]
    network = build_model(model, data.shape, K, member.initial_seed, **options).to(dtype)
    run = train(network, TrainingData(data, inside), member.method, member.settings)
    return run.model, run.records, run.weights


def assert_same(left: nn.Module, right: nn.Module, precision: str) -> None:
    ours, theirs = left.state_dict(), right.state_dict()
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        torch.testing.assert_close(
            ours[name], value, msg=lambda m, n=name: f"{n}: {m}", **PRECISE[precision]
        )


def diverse(precision: str, epochs: int = 2) -> list[Member]:
    """Every method with both optimisers, all numbers different."""
    members = []
    for i, method in enumerate(METHODS):
        for optimizer in ("sgd", "adam"):
            settings = Settings(
                epochs=epochs,
                batch_size=16,
                lr=(0.02 if optimizer == "sgd" else 0.002) * (1 + i / 9),
                weight_decay=10.0 ** -(1 + i % 5),
                momentum=(0.9, 0.0, 0.5)[i % 3],
                optimizer=optimizer,
                schedule=("exponential", "constant", "proden")[i % 3],
                precision=precision,
                seed=i,
            )
            members.append(Member(method, masks(i), settings))
    return members


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("model", ["mlp", "linear"])
def test_each_member_equals_the_single_engine(model: str, precision: str) -> None:
    options = WIDTHS if model == "mlp" else {}
    data, members = features(), diverse(precision)
    result = train_population(
        data, members, model=model, options=options, device="cpu", keep_weights=True
    )
    for i, member in enumerate(members):
        network, records, weights = alone(member, data, model, **options)
        assert_same(result.model(i), network, precision)
        history = result.history(i)
        for column in ("epoch", "lr", "loss", "covering"):
            expected = torch.tensor([record[column] for record in records]).double()
            found = torch.tensor(history[column].to_numpy()).double()
            torch.testing.assert_close(found, expected, **PRECISE["float32"])
        if weights is None:
            assert result.weights(i) is None
        else:
            torch.testing.assert_close(result.weights(i), weights, **PRECISE[precision])


def test_weights_are_kept_only_where_asked_for() -> None:
    members = [Member(LW(), masks(0), Settings(epochs=1, batch_size=16, seed=i)) for i in range(2)]
    for keep in (False, True):
        result = train_population(
            features(), members, model="linear", device="cpu", keep_weights=keep
        )
        assert [result.weights(i) is not None for i in range(2)] == [keep, keep]


def test_pieces_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders are drawn, and rows scored, in pieces of what the device can take at a time."""
    rows, held, labels = torch.arange(40), torch.arange(40, N), torch.arange(N) % K
    settings = Settings(epochs=2, batch_size=16, lr=0.05, precision="float64")
    members = [
        Member(LW(refresh="epoch", beta=beta), masks(i), replace(settings, seed=i), rows=rows,
               held=held, held_truth=labels[held])
        for i, beta in enumerate((1.0, 2.0, 4.0))
    ]  # fmt: skip
    watch = [Watch("accuracy", features(1), lambda scores: accuracy(scores, labels))]

    def trained() -> PopulationResult:
        return train_population(
            features(), members, model="linear", device="cpu", watch=watch,
            held={"cover": covering_rate}, keep_weights=True,
        )  # fmt: skip

    whole = trained()
    monkeypatch.setattr("amongst.accel.population.cohort.ORDER_CHUNK", 1)
    monkeypatch.setattr("amongst.accel.population.result.scored_at_a_time", lambda device: 12)
    pieces = trained()
    for i in range(3):
        assert_same(pieces.model(i), whole.model(i), "float64")
        torch.testing.assert_close(pieces.weights(i), whole.weights(i))
        for column in ("loss", "accuracy", "cover", "oracle"):
            found, expected = pieces.history(i)[column], whole.history(i)[column]
            assert found.tolist() == pytest.approx(expected.tolist())
        own = whole.model(i)(features().values[held].double())
        assert whole.history(i)["oracle"].iloc[-1] == pytest.approx(
            float(accuracy(own, labels[held]))
        )


def test_a_leverage_fades_as_its_formula_says() -> None:
    """Four epochs with fade 1 are four one-epoch trainings with β cos-weighted by hand."""
    settings = Settings(epochs=4, batch_size=16, precision="float64", schedule="constant")
    inside, seen = masks(0), []

    class Spy(LW):
        def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
            seen.append(float(self.beta))
            return super().loss(scores, inside, weights)

    network = build_model("linear", (D,), K, 0).double()
    train(network, TrainingData(features().to("cpu", torch.float64), inside), Spy(beta=8.0, fade=1.0),
          settings)  # fmt: skip
    by_epoch = [8.0, 4 * (1 + 0.5**0.5), 4.0, 4 * (1 - 0.5**0.5)]
    assert sorted(set(seen), reverse=True) == pytest.approx(by_epoch)


@pytest.mark.parametrize(("n", "batch_size"), [(51, 16), (50, 7), (33, 16), (20, 64)])
def test_batches_that_do_not_divide_the_rows(n: int, batch_size: int) -> None:
    """Also where the last batch has one row, and joins the one before (33 = 16 + 17)."""
    settings = Settings(epochs=2, batch_size=batch_size, precision="float64")
    members = [Member(LW(), masks(s, n), replace(settings, seed=s)) for s in range(3)]
    result = train_population(features(n=n), members, options=WIDTHS, device="cpu")
    for i, member in enumerate(members):
        assert_same(result.model(i), alone(member, features(n=n), **WIDTHS)[0], "float64")


@pytest.mark.parametrize("refresh", ["same", "post", "epoch"])
def test_members_on_subsets_of_rows(refresh: str) -> None:
    """Folds of unequal size, all rows, and rows in any order, mixed."""
    settings = Settings(epochs=2, batch_size=16, precision="float64")
    subsets = [torch.randperm(N)[:40], torch.arange(40), torch.arange(11, N), None]
    method = LW(refresh=refresh)
    members = [
        Member(method, masks(i), replace(settings, seed=i), rows=rows)
        for i, rows in enumerate(subsets)
    ]
    result = train_population(features(), members, options=WIDTHS, device="cpu", keep_weights=True)
    for i, member in enumerate(members):
        network, _, weights = alone(member, features(), **WIDTHS)
        assert_same(result.model(i), network, "float64")
        torch.testing.assert_close(result.weights(i), weights)


def test_uint8_images_with_shift_and_scale() -> None:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (N, 3, 2), generator=generator).to(torch.uint8)
    data = Features(pixels, torch.tensor(30.0), torch.tensor(255.0))
    members = [
        Member(PRODEN(), masks(0), Settings(epochs=1, batch_size=16, seed=s)) for s in (0, 1)
    ]
    result = train_population(data, members, options=WIDTHS, device="cpu")
    for i, member in enumerate(members):
        assert_same(result.model(i), alone(member, data, **WIDTHS)[0], "float32")


class Convolutions(nn.Sequential):
    """A person's own module, with batch norm."""

    def __init__(self, in_shape: tuple[int, ...], n_classes: int) -> None:
        super().__init__(
            nn.Unflatten(1, (1, 2, 3)),
            nn.Conv2d(1, 3, 2),
            nn.BatchNorm2d(3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(6, n_classes),
        )


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_any_module_through_vmap(precision: str) -> None:
    members = diverse(precision, epochs=1)[::3]
    result = train_population(features(), members, model=Convolutions, device="cpu")
    for i, member in enumerate(members):
        assert_same(result.model(i), alone(member, features(), Convolutions)[0], precision)


def test_padding_changes_nothing_and_stays_zero() -> None:
    from amongst.accel.population.cohort import form_cohort
    from amongst.accel.population.step import advance

    members = diverse("float64")
    order = sorted(range(len(members)), key=lambda i: members[i].settings.optimizer == "adam")
    members = [members[i] for i in order if members[i].method.when != "post"]
    plain, padded = (
        form_cohort(members, features(), "mlp", dict(WIDTHS), pad=pad) for pad in (False, True)
    )
    for cohort in (plain, padded):
        for epoch in range(2):
            cohort.begin_epoch(epoch)
            for size in cohort.sizes:
                advance(cohort, size)
    assert [tuple(p.shape[1:]) for p in padded.network.parameters][-2] == (8, 16)
    for i in range(len(members)):
        assert_same(padded.network.member(i), plain.network.member(i), "float64")
    for full, part in zip(padded.network.parameters, plain.network.parameters, strict=True):
        outside = full.clone()
        outside[:, : part.shape[1], : part.shape[2]] = 0
        assert not outside.any()


def test_a_member_that_diverges_is_marked_and_the_others_are_untouched() -> None:
    """Bit for bit: the same population with a learning rate that explodes in one member."""
    settings = Settings(epochs=3, batch_size=16)
    calm = [Member(LW(psi="squared_hinge"), masks(i), replace(settings, seed=i)) for i in range(4)]
    wild = list(calm)
    wild[2] = replace(calm[2], settings=replace(settings, seed=2, lr=1e18, momentum=0.99))
    kwargs: dict[str, object] = {"model": "linear", "device": "cpu"}
    reference, result = (train_population(features(), m, **kwargs) for m in (calm, wild))
    assert result.diverged[2] in (1, 2)
    assert result.diverged[:2] + result.diverged[3:] == [None] * 3
    history = result.history(2)
    assert history["loss"].isna().iloc[-1]
    for i in (0, 1, 3):
        ours, theirs = result.model(i).state_dict(), reference.model(i).state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
        assert result.history(i)["loss"].equals(reference.history(i)["loss"])


def test_a_frozen_member_keeps_its_last_finite_parameters() -> None:
    settings = Settings(epochs=4, batch_size=16, lr=1e18)
    member = Member(LW(psi="squared_hinge"), masks(0), settings)
    result = train_population(features(), [member], model="linear", device="cpu")
    assert result.diverged == [1]
    state = result.model(0).state_dict()
    assert all(value.isfinite().all() for value in state.values())


@pytest.mark.parametrize("backend", ["eager", "alone"])
def test_a_last_step_that_explodes_is_told(backend: str) -> None:
    """No loss comes after it: the member ended with NaN and a plausible accuracy."""
    calm = Settings(epochs=1, batch_size=N)
    settings = [calm, replace(calm, lr=1e38, weight_decay=1e3)]
    watch = [Watch("right", features(), lambda scores: (scores.argmax(-1) == 0).float().mean(-1))]
    result = train_population(
        features(),
        [Member(LW(), masks(0), own) for own in settings],
        model="linear",
        device="cpu",
        watch=watch,
        backend=backend,
    )
    assert result.diverged == [None, 1]
    assert result.last("right").isnan().tolist() == [False, True]


def test_watched_and_held_measures() -> None:
    data, labels = features(), torch.randint(K, (N,))
    watch = [
        Watch("test", data, lambda scores: accuracy(scores, labels)),
        Watch("plain", data, lambda scores: (scores.argmax(-1) == labels).float().mean()),
    ]
    held = torch.arange(40, N)
    settings = Settings(epochs=2, batch_size=16)
    members = [
        Member(LW(), masks(i), replace(settings, seed=i), rows=torch.arange(40), held=held)
        for i in range(3)
    ]
    result = train_population(
        data, members, options=WIDTHS, device="cpu", watch=watch, held={"cover": covering_rate}
    )
    scores = result.scores(data)
    for i, member in enumerate(members):
        history = result.history(i)
        assert history["test"].iloc[-1] == pytest.approx(float(accuracy(scores[i], labels)))
        assert (history["plain"] == history["test"]).all()
        expected = covering_rate(scores[i][held], member.inside[held])
        assert history["cover"].iloc[-1] == pytest.approx(float(expected))
        torch.testing.assert_close(
            scores[i], result.model(i)(data.values).detach(), rtol=1e-4, atol=1e-5
        )
    assert result.last("test", epochs=2).shape == (3,)


def test_resuming_gives_what_an_undisturbed_run_gives(tmp_path: object) -> None:
    members = diverse("float32", epochs=4)[::4]
    kwargs: dict[str, object] = {"options": WIDTHS, "device": "cpu", "keep_weights": True}
    whole = train_population(features(), members, **kwargs)

    class Stop(Exception):
        pass

    def stop_after(epoch: int) -> Callable[[object], None]:
        def hook(progress: object) -> None:
            if progress.epoch == epoch:  # type: ignore[attr-defined]
                raise Stop

        return hook

    kwargs |= {"checkpoint": tmp_path, "checkpoint_every": 1}
    for epoch in (1, 3):
        with pytest.raises(Stop):
            train_population(features(), members, on_epoch=stop_after(epoch), **kwargs)
    resumed = train_population(features(), members, **kwargs)
    for i in range(len(members)):
        ours, theirs = resumed.model(i).state_dict(), whole.model(i).state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
        assert resumed.history(i)["loss"].equals(whole.history(i)["loss"])


def test_initial_weights_follow_the_seed() -> None:
    member = Member(LW(), masks(0), Settings(seed=5))
    assert member.initial_seed == split_seed(5)[0]
    assert replace(member, model_seed=9).initial_seed == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inside": masks(0, 50)}, "members\\[0\\].inside"),
        ({"inside": masks(0).float()}, "dtype torch.float32"),
        ({"rows": torch.tensor([N])}, "outside the 51 rows"),
        ({"held": torch.tensor([0.5])}, "members\\[0\\].held"),
    ],
)
def test_bad_members_are_refused(change: dict[str, object], message: str) -> None:
    member = replace(Member(LW(), masks(0)), **change)
    with pytest.raises(InputError, match=message):
        train_population(features(), [member], device="cpu")


def test_an_empty_population_and_a_batch_of_one_row_are_refused() -> None:
    with pytest.raises(InputError, match="members is empty"):
        train_population(features(), [], device="cpu")
    tiny = Member(LW(), masks(0), Settings(batch_size=1))
    with pytest.raises(InputError, match="batch normalisation"):
        train_population(features(), [tiny], device="cpu")
