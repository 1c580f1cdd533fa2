"""Algorithms against slow loops written from their papers."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import Tensor, nn

from amongst.algorithms import METHODS, Batch
from amongst.algorithms._parts import mixing_share, partners
from amongst.algorithms.dirk import rectified
from amongst.algorithms.pals import chosen_rows, nearest, poll
from amongst.algorithms.solar import transport

B, D, K = 6, 5, 4
INSIDE = torch.tensor(
    [[1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 1], [0, 0, 1, 1]]
).bool()


def views() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(B, D, generator=generator, dtype=torch.float64)
    return x, x + 0.1 * torch.randn(B, D, generator=generator, dtype=torch.float64)


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(D, 7), nn.Tanh(), nn.Linear(7, K)).double()


def unit(v: Tensor) -> Tensor:
    return v / v.norm()


def log_p(scores: Tensor) -> Tensor:
    return scores - scores.exp().sum().log()


@pytest.mark.parametrize("progress", [0.0, 0.5])
def test_pico_equals_a_loop_over_rows(progress: float) -> None:
    """Eqs. (1), (4), (5) and (7) of the paper: two steps, so that prototypes and queue are not empty."""
    torch.manual_seed(3)
    algorithm = METHODS["pico"](queue=8, width=3, start=0.2, memory=0.9, ema=0.5)
    algorithm = algorithm.begin(net(), INSIDE, torch.float64)
    first, second = views()
    batch = Batch((first, second), INSIDE, torch.arange(B), progress)
    algorithm.training_step(batch)
    algorithm.prototypes.copy_(torch.randn(K, 3, dtype=torch.float64))
    before = copy.deepcopy(algorithm)
    losses, scores = algorithm.training_step(batch)

    q = [unit(before.project(before.network[:2](row))) for row in first]
    k = [unit(before.slow[1](before.slow[0][:2](row))) for row in second]
    phi = 0.95 + (0.8 - 0.95) * progress
    labels, targets = [], before.targets.clone()
    for i in range(B):
        candidates = [z for z in range(K) if INSIDE[i, z]]
        labels.append(max(candidates, key=lambda z: float(scores[i, z])))
        nearest = max(candidates, key=lambda z: float(q[i] @ before.prototypes[z]))
        if progress >= 0.2:
            for z in range(K):
                targets[i, z] = phi * targets[i, z] + (1 - phi) * (z == nearest)
    everyone = [*zip(q, labels, strict=True), *zip(k, labels, strict=True)]
    everyone += list(zip(before.past.keys, before.past.labels.tolist(), strict=True))
    for i in range(B):
        loss = -sum(targets[i, z] * log_p(scores[i])[z] for z in range(K))
        if progress >= 0.2:
            others = [other for j, other in enumerate(everyone) if j != i]
            total = math.log(sum(math.exp(float(q[i] @ v) / 0.07) for v, _ in others))
            alike = [float(q[i] @ v) / 0.07 - total for v, label in others if label == labels[i]]
            contrast = -sum(alike) / len(alike)
        else:
            own = float(q[i] @ k[i]) / 0.07
            rest = [float(q[i] @ v) / 0.07 for v in before.past.keys]
            contrast = -own + math.log(math.exp(own) + sum(map(math.exp, rest)))
        assert losses[i].item() == pytest.approx(float(loss) + 0.5 * contrast, rel=1e-9)
    torch.testing.assert_close(algorithm.targets, targets)

    prototypes = before.prototypes.clone()
    for i in range(B):
        prototypes[labels[i]] = 0.9 * prototypes[labels[i]] + 0.1 * q[i]
    expected = torch.stack([unit(prototype) for prototype in prototypes])
    torch.testing.assert_close(algorithm.prototypes, expected)
    placed = [*labels[2:], *labels[4:], *labels[:2]]  # twice six labels in eight places
    assert algorithm.past.labels.tolist() == placed


def test_picos_slow_copy_is_a_moving_average() -> None:
    algorithm = METHODS["pico"](queue=8, width=3, ema=0.75).begin(net(), INSIDE, torch.float64)
    with torch.no_grad():
        for parameter in algorithm.network.parameters():
            parameter += 1
    algorithm.after_step(Batch(views(), INSIDE, torch.arange(B)), torch.zeros(B, K))
    for slow, start in zip(algorithm.slow[0].parameters(), net().parameters(), strict=True):
        torch.testing.assert_close(slow, start + 0.25)


def test_a_mean_teacher_is_at_first_the_mean_of_all_steps() -> None:
    algorithm = METHODS["mean-teacher"](ema=0.75).begin(net(), INSIDE, torch.float64)
    batch, seen = Batch(views(), INSIDE, torch.arange(B)), []
    for step in range(6):
        with torch.no_grad():
            for parameter in algorithm.network.parameters():
                parameter += step
        seen.append(algorithm.network[0].weight.clone())
        algorithm.after_step(batch, torch.zeros(B, K))
    mean = sum(seen[:4]) / 4
    expected = 0.75 * (0.75 * mean + 0.25 * seen[4]) + 0.25 * seen[5]
    torch.testing.assert_close(algorithm.teachers[0][0].weight, expected)
    losses, scores = algorithm.training_step(batch)
    believed = algorithm.teachers[0](batch.views[1])
    for i in range(B):
        p = believed[i].softmax(-1) * INSIDE[i]
        expected = -(p / p.sum() * log_p(scores[i])).sum()
        torch.testing.assert_close(losses[i], expected)


def test_mixup_mixes_rows_and_beliefs_alike() -> None:
    algorithm = METHODS["mixup"](mix=1.0, keep=0.25).begin(net(), INSIDE, torch.float64)
    x, _ = views()
    batch = Batch((x,), INSIDE, torch.arange(B))
    torch.manual_seed(5)
    losses, scores = algorithm.training_step(batch)
    torch.manual_seed(5)
    others, share = torch.randperm(B), mixing_share(1.0, x)
    for i in range(B):
        j = int(others[i])
        row = share * x[i] + (1 - share) * x[j]
        target = share * algorithm.beliefs[i] + (1 - share) * algorithm.beliefs[j]
        torch.testing.assert_close(losses[i], -(target * log_p(algorithm.network(row))).sum())
    before = algorithm.beliefs.clone()
    algorithm.after_step(batch, scores.detach())
    for i in range(B):
        p = scores[i].softmax(-1) * INSIDE[i]
        torch.testing.assert_close(
            algorithm.beliefs[i], 0.25 * before[i] + 0.75 * (p / p.sum()).detach()
        )


def three_views() -> tuple[Tensor, Tensor, Tensor]:
    first, second = views()
    return first, second, second.roll(1, 0)


def geometric_mean(network: nn.Module, rows: list[Tensor], labels: list[int]) -> dict[int, float]:
    """Of what the network gives these views of one row, normalised over the labels."""
    p = [network(row).softmax(-1) for row in rows]
    means = {z: math.prod(float(q[z]) for q in p) ** (1 / len(p)) for z in labels}
    return {z: value / sum(means.values()) for z, value in means.items()}


def sides(i: int) -> tuple[list[int], list[int]]:
    return [z for z in range(K) if INSIDE[i, z]], [z for z in range(K) if not INSIDE[i, z]]


@pytest.mark.parametrize("progress", [0.0, 0.25, 0.75])
def test_crdpll_equals_a_loop_over_rows(progress: float) -> None:
    """Its Eqs. for the supervised loss, the closed form of c, and λ(t): c is of the visit before."""
    algorithm = METHODS["crdpll"](weight=0.8).begin(net(), INSIDE, torch.float64)
    earlier = three_views()[::-1]
    algorithm.training_step(Batch(earlier, INSIDE, torch.arange(B), 0.0))
    seen = three_views()
    losses, _ = algorithm.training_step(Batch(seen, INSIDE, torch.arange(B), progress))
    for i in range(B):
        inside, outside = sides(i)
        c = geometric_mean(algorithm.network, [view[i] for view in earlier], inside)
        p = [algorithm.network(view[i]).softmax(-1) for view in seen]
        loss = -sum(math.log(1 - float(p[0][z])) for z in outside)
        divergence = sum(c[z] * (math.log(c[z]) - math.log(q[z])) for q in p for z in inside)
        expected = loss + 0.8 * min(progress / 0.5, 1) * divergence
        assert losses[i].item() == pytest.approx(expected, rel=1e-9)
        fresh = geometric_mean(algorithm.network, [view[i] for view in seen], inside)
        assert algorithm.beliefs[i, inside].tolist() == pytest.approx(list(fresh.values()))
        assert not algorithm.beliefs[i, outside].any()


@pytest.mark.parametrize("outside_weights", ["ones", "lw"])
def test_lw_with_views_equals_a_loop_over_rows(outside_weights: str) -> None:
    algorithm = METHODS["lw-views"](
        views=3, beta=2.0, alpha=0.5, outside=outside_weights, start=0.1, keep=0.25
    ).begin(net(), INSIDE, torch.float64)
    seen = three_views()
    losses, _ = algorithm.training_step(Batch(seen, INSIDE, torch.arange(B), 0.25))
    for i in range(B):
        inside, outside = sides(i)
        rows, w = [view[i] for view in seen], {}
        for side in (inside, outside):
            fresh = geometric_mean(algorithm.network, rows, side) if side else {}
            w |= {z: 0.25 / len(side) + 0.75 * value for z, value in fresh.items()}
        if outside_weights == "ones":
            w |= dict.fromkeys(outside, 1.0)
        loss = 0.0
        for row in rows:
            p = algorithm.network(row).softmax(-1)
            loss -= 0.5 * 0.5 * sum(w[z] * math.log(p[z]) for z in inside) / 3
            loss -= 2.0 * sum(w[z] * math.log(1 - p[z]) for z in outside) / 3
        assert losses[i].item() == pytest.approx(loss, rel=1e-9)


class _Rows:
    """All rows for `after_epoch`."""

    inside = INSIDE

    def __len__(self) -> int:
        return B

    def scores(self, network: nn.Module) -> Tensor:
        return network(views()[0]).detach()  # type: ignore[no-any-return]


def test_lw_with_views_takes_weights_of_clean_rows_once_an_epoch() -> None:
    algorithm = METHODS["lw-views"](belief="clean", keep=0.5, sharpness=2.0)
    algorithm = algorithm.begin(net(), INSIDE, torch.float64)
    start = algorithm.weights.clone()
    algorithm.training_step(Batch(views(), INSIDE, torch.arange(B), 0.5))
    assert torch.equal(algorithm.weights, start)
    algorithm.after_epoch(_Rows(), 0.5)
    for i in range(B):
        p = algorithm.network(views()[0][i]).softmax(-1) ** 2 * INSIDE[i]
        fresh = (p / p.sum())[INSIDE[i]].detach()
        torch.testing.assert_close(
            algorithm.weights[i, INSIDE[i]], (start[i, INSIDE[i]] + fresh) / 2
        )


def test_lw_with_views_may_ask_a_teacher() -> None:
    algorithm = METHODS["lw-views"](belief="teacher", keep=0.0).begin(net(), INSIDE, torch.float64)
    with torch.no_grad():
        for parameter in algorithm.network.parameters():
            parameter *= -1
    algorithm.training_step(Batch(views(), INSIDE, torch.arange(B), 0.5))
    for i in range(B):
        inside, _ = sides(i)
        expected = geometric_mean(net(), [view[i] for view in views()], inside)
        assert algorithm.weights[i, inside].tolist() == pytest.approx(list(expected.values()))
    algorithm.after_step(Batch(views(), INSIDE, torch.arange(B)), torch.zeros(B, K))
    assert torch.equal(algorithm.teachers[0][0].weight, algorithm.network[0].weight)


def test_mixing_shares_have_the_moments_of_their_law() -> None:
    torch.manual_seed(0)
    drawn = torch.stack([mixing_share(4.0, torch.zeros(1)) for _ in range(2000)])
    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.02)
    assert float(drawn.var()) == pytest.approx(1 / (4 * 9), rel=0.15)


def test_partners_are_a_permutation_of_the_chosen_rows() -> None:
    chosen = torch.tensor([0, 1, 1, 0, 1, 1]).bool()
    seen = set()
    for seed in range(20):
        torch.manual_seed(seed)
        found = partners(chosen)[chosen].tolist()
        assert sorted(found) == [1, 2, 4, 5]
        seen.add(tuple(found))
    assert len(seen) > 5


@pytest.mark.parametrize("activation", ["score", "probability"])
def test_cavl_chooses_the_candidate_with_the_largest_activation_value(activation: str) -> None:
    scores = net()(views()[0]).detach()
    found = METHODS["cavl"](activation=activation).update(scores, INSIDE)
    for i in range(B):
        v = scores[i] if activation == "score" else scores[i].softmax(-1)
        values = {z: abs(1 - float(v[z])) * float(scores[i, z]) for z in sides(i)[0]}
        assert found[i].tolist() == [
            float(z == max(values, key=lambda z: values[z])) for z in range(K)
        ]


def test_pop_strikes_candidates_out_for_good() -> None:
    """Two windows of two epochs: the first finds a candidate below the threshold, the second none."""
    algorithm = METHODS["pop"](window=2, start=0.0, threshold_start=0.6, growth=0.5, highest=1.0)
    algorithm = algorithm.begin(net(), INSIDE, torch.float64)
    batch = Batch(three_views(), INSIDE, torch.arange(B))
    kept, threshold, past = INSIDE.clone(), 0.6, torch.zeros(2, B, K, dtype=torch.float64)
    for epoch in range(5):
        before = algorithm.beliefs.clone()
        losses, scores = algorithm.training_step(batch)
        for i in range(B):
            rows = [log_p(algorithm.network(view[i])) for view in batch.views]
            torch.testing.assert_close(losses[i], -sum((before[i] * row).sum() for row in rows) / 3)
        algorithm.after_step(batch, scores.detach())
        beliefs = [scores[i].detach().softmax(-1) * kept[i] for i in range(B)]
        past[epoch % 2] = torch.stack([row / row.sum() for row in beliefs])
        expected, changed = past[epoch % 2].clone(), 0
        if epoch % 2 == 0:
            for i in range(B):
                mean = past[:, i].mean(0)
                for z in range(K):
                    if kept[i, z] and mean[z] < threshold * mean.max():
                        kept[i, z], changed = False, changed + 1
                expected[i] = mean * kept[i] / (mean * kept[i]).sum()
            threshold *= 1 if changed else 1.5
        algorithm.after_epoch(_Rows(), (epoch + 1) / 6)
        torch.testing.assert_close(algorithm.beliefs, expected)
        assert torch.equal(algorithm.kept, kept)
        assert float(algorithm.threshold) == pytest.approx(threshold)
    assert kept.any(-1).all()
    assert not torch.equal(kept, INSIDE)


def test_papi_equals_a_loop_over_rows() -> None:
    algorithm = METHODS["papi"](width=3, weight=0.5, ramp=0.5).begin(net(), INSIDE, torch.float64)
    algorithm.prototypes.copy_(torch.randn(K, 3, dtype=torch.float64))
    before, batch = copy.deepcopy(algorithm), Batch(views(), INSIDE, torch.arange(B), 0.25)
    torch.manual_seed(5)
    losses, scores = algorithm.training_step(batch)
    torch.manual_seed(5)
    share, others = mixing_share(8.0, batch.x), torch.randperm(B)
    phi, memory = 0.95 + 0.25 * (0.8 - 0.95), 0.9 + 0.25 * (0.5 - 0.9)
    p = [scores[i].softmax(-1) * INSIDE[i] for i in range(B)]
    c = [phi * before.targets[i] + (1 - phi) * (p[i] / p[i].sum()).detach() for i in range(B)]
    for i in range(B):
        j, loss = int(others[i]), -(c[i] * log_p(scores[i])).sum()
        for view in batch.views:
            row = share * view[i] + (1 - share) * view[j]
            q = unit(before.project(before.network[:2](row)))
            logs = log_p(before.prototypes @ q / 0.3)
            for part, target in ((share, c[i]), (1 - share, c[j])):
                inside = target > 0
                terms = target[inside] * (target[inside].log() - logs[inside])
                loss = loss + 0.5 * 0.5 * part * terms.sum()
        torch.testing.assert_close(losses[i], loss)
    torch.testing.assert_close(algorithm.targets, torch.stack(c))
    prototypes = before.prototypes.clone()
    for view in batch.views:
        for i in range(B):
            g = before.network(view[i]).detach()
            z = max(sides(i)[0], key=lambda z: float(g[z]))
            q = unit(before.project(before.network[:2](view[i])))
            prototypes[z] = memory * prototypes[z] + (1 - memory) * q.detach()
    torch.testing.assert_close(algorithm.prototypes, torch.stack([unit(v) for v in prototypes]))


def test_dirks_rectified_confidence_keeps_candidates_above() -> None:
    scores = 3 * net()(views()[0]).detach()
    found = rectified(scores, INSIDE)
    for i in range(B):
        inside, outside = sides(i)
        p = scores[i].softmax(-1)
        within = {z: float(p[z] / p[inside].sum()) for z in inside}
        beyond = {z: float(p[z] / p[outside].sum()) for z in outside}
        if beyond:
            raised = max(beyond.values()) / float(p[inside].sum())
            a = raised / (raised + min(within.values()))
        else:
            a = 1.0
        expected = [a * within[z] if z in within else (1 - a) * beyond[z] for z in range(K)]
        assert found[i].tolist() == pytest.approx(expected)
        assert found[i, inside].min() >= max((found[i, z] for z in outside), default=0.0)


@pytest.mark.parametrize("progress", [0.0, 0.5])
def test_dirk_equals_a_loop_over_rows(progress: float) -> None:
    torch.manual_seed(4)
    algorithm = METHODS["dirk"](queue=8, width=3, start=0.1).begin(net(), INSIDE, torch.float64)
    batch = Batch(three_views(), INSIDE, torch.arange(B), progress)
    algorithm.training_step(batch)  # six of eight places of the queue have labels now
    algorithm.slow[0][0].weight.data.mul_(-1)
    before = copy.deepcopy(algorithm)
    losses, scores = algorithm.training_step(batch)
    first, second, last = batch.views
    r = rectified(before.slow[0](last), INSIDE).detach()
    q = [unit(before.project(before.network[:2](row))) for row in second]
    k = [unit(before.slow[1](before.slow[0][:2](row))) for row in first]
    everyone = list(zip(q, r, r.argmax(-1).tolist(), strict=True))
    everyone += list(zip(k, r, r.argmax(-1).tolist(), strict=True))
    queue = zip(before.past.keys, before.beliefs.keys, before.past.labels.tolist(), strict=True)
    everyone += list(queue)
    for i in range(B):
        loss = -(r[i] * log_p(before.network(last[i]))).sum()
        if progress < 0.1:
            own, rest = q[i] @ k[i] / 0.07, [q[i] @ v / 0.07 for v in before.past.keys]
            loss = loss - own + torch.stack([own, *rest]).exp().sum().log()
        else:
            others = [other for j, other in enumerate(everyone) if j != i]
            total = torch.stack([q[i] @ v / 0.07 for v, _, _ in others]).exp().sum().log()
            alike = [(v, s) for v, s, z in others if z == int(r[i].argmax())]
            weights = torch.stack([unit(r[i]) @ unit(s) / 0.4 for _, s in alike]).softmax(-1)
            for weight, (v, _) in zip(weights, alike, strict=True):
                loss = loss - weight * (q[i] @ v / 0.07 - total)
        torch.testing.assert_close(losses[i], loss)
    torch.testing.assert_close(scores, before.network(last))


@pytest.mark.parametrize("progress", [0.0, 0.5])
def test_records_equals_a_loop_over_rows(progress: float) -> None:
    algorithm = METHODS["records"](mixup=0.5, memory=0.75).begin(net(), INSIDE, torch.float64)
    algorithm.balance.mean.copy_(torch.tensor([1.0, 0.0, -1.0, 2.0]))
    start, batch = algorithm.beliefs.clone(), Batch(views(), INSIDE, torch.arange(B), progress)
    torch.manual_seed(5)
    losses, _ = algorithm.training_step(batch)
    torch.manual_seed(5)
    others, share = torch.randperm(B), mixing_share(4.0, batch.x, at_least_half=True)
    everything = torch.cat([algorithm.network(view) for view in batch.views]).detach()
    mean = 0.75 * torch.tensor([1.0, 0.0, -1.0, 2.0]) + 0.25 * everything.mean(0)

    def corr(row: Tensor, c: Tensor) -> Tensor:
        p, loss = algorithm.network(row).softmax(-1), torch.zeros(())
        for z in range(K):
            loss = loss + (c[z] * (c[z] / p[z]).log() if c[z] > 0 else -(1 - p[z]).log())
        return loss

    for i in range(B):
        j, c = int(others[i]), start[i]
        loss = sum(corr(view[i], c) for view in batch.views)
        if progress:
            c = share * start[i] + (1 - share) * start[j]
            rows = [share * view[i] + (1 - share) * view[j] for view in batch.views]
            loss = loss + 0.5 * sum(corr(row, c) for row in rows)
        torch.testing.assert_close(losses[i], loss.double())
        balanced = nn.Sequential(algorithm.network, _Minus(mean.log_softmax(-1)))
        fresh = geometric_mean(balanced, [view[i] for view in batch.views], sides(i)[0])
        expected = [fresh.get(z, 0.0) if progress else float(start[i, z]) for z in range(K)]
        assert algorithm.beliefs[i].tolist() == pytest.approx(expected)
    predicted = algorithm.network(batch.x) - mean.log_softmax(-1)
    torch.testing.assert_close(algorithm(batch.x), predicted)
    torch.testing.assert_close(algorithm.predictor()(batch.x), predicted)


class _Minus(nn.Module):
    def __init__(self, shift: Tensor) -> None:
        super().__init__()
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        return x - self.shift


def test_a_linear_head_on_mean_features_is_what_a_balance_follows() -> None:
    """RECORDS in the words of its paper, while the head stays as it is."""
    algorithm = METHODS["records"](memory=0.75).begin(net(), INSIDE, torch.float64)
    features = torch.zeros(7, dtype=torch.float64)
    bias = algorithm.network[2].bias.detach()
    for x in (*three_views(), *views()):
        features = 0.75 * features + 0.25 * algorithm.network[:2](x).detach().mean(0)
        algorithm.balance.follow(algorithm.network(x).detach())
    expected = algorithm.network[2].weight.detach() @ features + (1 - 0.75**5) * bias
    torch.testing.assert_close(algorithm.balance.mean, expected)


def test_solars_transport_equals_sinkhorns_iteration() -> None:
    scores = net()(views()[0]).detach()
    p = (scores.softmax(-1) * INSIDE) ** 3
    prior = torch.tensor([0.4, 0.3, 0.2, 0.1]).double()
    r, c = torch.zeros(K).double(), torch.full((B,), 1 / B).double()
    for _ in range(50):
        for z in range(K):
            r[z] = prior[z] / sum(p[i, z] * c[i] for i in range(B))
        for i in range(B):
            c[i] = 1 / B / sum(p[i, z] * r[z] for z in range(K))
    expected = B * p * c.unsqueeze(1) * r
    nothing = torch.full((2, K), -torch.inf).double()
    found = transport(torch.cat((nothing, p.log())), prior)
    torch.testing.assert_close(found[2:], expected)
    assert not found[:2].any()
    torch.testing.assert_close(found.sum(-1), torch.tensor([0.0, 0, 1, 1, 1, 1, 1, 1]).double())


@pytest.mark.parametrize("progress", [0.0, 0.025, 0.5])
def test_solar_equals_a_loop_over_rows(progress: float) -> None:
    algorithm = METHODS["solar"](queue=8, sure=0.9).begin(net(), INSIDE, torch.float64)
    algorithm.prior.copy_(torch.tensor([0.4, 0.3, 0.2, 0.1]))
    batch = Batch(views(), INSIDE, torch.arange(B), progress)
    torch.manual_seed(5)
    losses, _ = algorithm.training_step(batch)
    ramp = min(progress / 0.05, 1.0)
    rho, eta = 0.2 + 0.6 * ramp, 0.9 * ramp
    logs = [[log_p(algorithm.network(row)) for row in view] for view in batch.views]
    c = torch.stack([logs[0][i].exp() * INSIDE[i] for i in range(B)]).detach()
    c = c / c.sum(-1, keepdim=True)
    t = transport(3 * c.log(), algorithm.prior)
    labels, first = t.argmax(-1).tolist(), [float(-(t[i] * logs[0][i]).sum()) for i in range(B)]
    trusted = set()
    for z in range(K):
        mine = sorted((i for i in range(B) if labels[i] == z), key=lambda i: first[i])
        trusted |= set(mine[: max(math.ceil(B * rho * float(algorithm.prior[z])), 1)])
    trusted |= {i for i in range(B) if float(t[i] @ logs[0][i].exp()) > 0.9}
    torch.manual_seed(5)
    others = partners(torch.tensor([i in trusted for i in range(B)]))
    share = mixing_share(4.0, batch.x, at_least_half=True)
    for i in range(B):
        even = INSIDE[i] / INSIDE[i].sum()
        unsure = -(even * logs[0][i]).sum()
        if progress == 0:
            expected = unsure
        elif i in trusted:
            j = int(others[i])
            mixed = log_p(algorithm.network(share * batch.x[i] + (1 - share) * batch.x[j]))
            target = share * t[i] + (1 - share) * t[j]
            sure = -(t[i] * (logs[0][i] + logs[1][i])).sum() - (target * mixed).sum()
            expected = eta * B / len(trusted) * sure
        else:
            expected = (1 - eta) * B / (B - len(trusted)) * unsure
        torch.testing.assert_close(losses[i], expected)
    torch.testing.assert_close(algorithm.beliefs, c)
    algorithm.after_epoch(_Rows(), 0.01)
    best = [max(sides(i)[0], key=lambda z: float(c[i, z])) for i in range(B)]
    counted = torch.tensor([best.count(z) / B for z in range(K)]).double()
    expected = 0.9 * torch.tensor([0.4, 0.3, 0.2, 0.1]).double() + 0.1 * counted
    torch.testing.assert_close(algorithm.prior, expected)


@pytest.mark.parametrize("form", ["onehot", "scale"])
def test_alim_equals_a_loop_over_rows(form: str) -> None:
    options = {"queue": 8, "width": 3, "memory": 0.9, "start": 0.1, "form": form, "noise": 0.4}
    algorithm = METHODS["alim"](**options, mixup=0.5).begin(net(), INSIDE, torch.float64)
    algorithm.prototypes.copy_(torch.randn(K, 3, dtype=torch.float64))
    algorithm.trust.fill_(0.7)
    before, batch = copy.deepcopy(algorithm), Batch(views(), INSIDE, torch.arange(B), 0.5)
    torch.manual_seed(5)
    losses, scores = algorithm.training_step(batch)
    torch.manual_seed(5)
    share, others = mixing_share(4.0, batch.x, at_least_half=True), torch.randperm(B)
    q = [unit(before.project(before.network[:2](row))).detach() for row in batch.views[0]]
    k = [unit(before.slow[1](before.slow[0][:2](row))) for row in batch.views[1]]
    phi, labels, targets, margins = 0.875, [], [], []
    for i in range(B):
        factor = [1.0 if INSIDE[i, z] else 0.7 for z in range(K)]
        p, r = scores[i].softmax(-1), (before.prototypes @ q[i] / 0.07).softmax(-1)
        labels.append(max(range(K), key=lambda z: float(p[z]) * factor[z]))
        new = torch.tensor([float(r[z]) * factor[z] for z in range(K)]).double()
        new = new / new.sum() if form == "scale" else torch.eye(K)[new.argmax()].double()
        targets.append(phi * before.targets[i] + (1 - phi) * new)
        inside, outside = sides(i)
        beyond = max((float(r[z]) for z in outside), default=0.0)
        margins.append(max(float(r[z]) for z in inside) / (beyond + 1e-9))
    everyone = [*zip(q, labels, strict=True), *zip(k, labels, strict=True)]
    everyone += list(zip(before.past.keys, before.past.labels.tolist(), strict=True))
    for i in range(B):
        rest = [other for j, other in enumerate(everyone) if j != i]
        total = torch.stack([q[i] @ v / 0.07 for v, _ in rest]).exp().sum().log()
        alike = [q[i] @ v / 0.07 - total for v, label in rest if label == labels[i]]
        j = int(others[i])
        mixed = log_p(before.network(share * batch.x[i] + (1 - share) * batch.x[j]))
        target = share * targets[i] + (1 - share) * targets[j]
        loss = -(targets[i] * log_p(scores[i])).sum() - 0.5 * (target * mixed).sum()
        torch.testing.assert_close(losses[i], loss - 0.5 * sum(alike) / len(alike))
    torch.testing.assert_close(algorithm.targets, torch.stack(targets))
    assert algorithm.margins.tolist() == pytest.approx(margins)
    algorithm.trust.zero_()
    for progress, adjusts in ((0.0799, False), (0.08, True)):
        algorithm.after_epoch(_Rows(), progress)
        expected = min(sorted(margins)[int(0.4 * B)], 1.0) if adjusts else 0.0
        assert float(algorithm.trust) == pytest.approx(expected)


def test_pals_labels_rows_as_their_neighbours_do() -> None:
    """Both polls and the choice of rows, with loops."""
    torch.manual_seed(1)
    features = torch.stack([unit(row) for row in torch.randn(B, 3, dtype=torch.float64)])
    near, weights = nearest(features, 3)
    votes, shares = torch.zeros(2, B, K).double(), torch.zeros(B, K).double()
    for turn in range(2):
        for i in range(B):
            cosines = {j: float(features[i] @ features[j]) for j in range(B)}
            for j in sorted(cosines, key=lambda j: -cosines[j])[:4]:
                said = INSIDE[j] if turn == 0 else torch.eye(K)[votes[0, j].argmax()]
                votes[turn, i] += math.exp(cosines[j] / 0.1) * said
    first = poll(INSIDE.double(), near, weights)
    torch.testing.assert_close(first, votes[0])
    second = poll(torch.eye(K).double()[first.argmax(-1)], near, weights)
    torch.testing.assert_close(second, votes[1])
    shares = second / second.sum(-1, keepdim=True)
    labels, reliable = chosen_rows(shares, INSIDE, delta=0.6)
    counts = torch.zeros(K)
    for i in range(B):
        winner = int(shares[i].argmax())
        counts[winner] += bool(INSIDE[i, winner])
    room, taken = max(int(counts.quantile(0.6)), 1), {}
    for z in range(K):
        mine = sorted(
            (i for i in range(B) if INSIDE[i, z]), key=lambda i: -shares[i, z].clamp(0.01, 0.99)
        )
        for i in mine[:room]:
            taken.setdefault(i, []).append(z)
    assert reliable.tolist() == [i in taken for i in range(B)]
    for i, classes in taken.items():
        assert int(labels[i]) == max(classes, key=lambda z: float(shares[i, z].clamp(0.01, 0.99)))


def test_pals_trains_on_mixed_reliable_rows() -> None:
    algorithm = METHODS["pals"](neighbours=2, smoothing=0.4).begin(net(), INSIDE, torch.float64)
    algorithm.after_epoch(_Rows(), 0.5)
    assert set(algorithm.targets.unique().tolist()) == {0.1, 0.7}
    algorithm.reliable.copy_(torch.tensor([1, 0, 1, 1, 0, 1]))
    batch = Batch(views(), INSIDE, torch.arange(B), 0.5)
    torch.manual_seed(5)
    losses, _ = algorithm.training_step(batch)
    torch.manual_seed(5)
    drawn = [
        (partners(algorithm.reliable), mixing_share(1.0, batch.x, at_least_half=True))
        for _ in range(2)
    ]
    for i in range(B):
        loss = torch.zeros(()).double()
        for view, (others, share) in zip(batch.views, drawn, strict=True):
            j = int(others[i])
            row = share * view[i] + (1 - share) * view[j]
            target = share * algorithm.targets[i] + (1 - share) * algorithm.targets[j]
            loss = loss - (target * log_p(algorithm.network(row))).sum() / 2
        expected = loss * 6 / 4 if algorithm.reliable[i] else torch.zeros(()).double()
        torch.testing.assert_close(losses[i], expected)
