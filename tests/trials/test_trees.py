"""Trees of the shares of values, beside scikit-learn's trees of single people."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.tree import DecisionTreeClassifier

from foreknow.trials import trees
from foreknow.trials.trees import Forest, features_of


def people(seed, n_kinds=60, n_values=3):
    """Kinds of people by six columns of two values, and how many have which value."""
    random = np.random.default_rng(seed)
    features = random.integers(0, 2, (n_kinds, 6)).astype(float)
    amounts = random.integers(0, 9, (n_kinds, n_values)).astype(float)
    amounts[random.random(n_kinds) < 0.2] = 0  # kinds of which there is nobody
    return features, amounts


@pytest.mark.parametrize("seed", range(6))
def test_shares_divide_as_people_do(seed):
    """Every cut of a column is the same; equal cuts may send a kind of nobody elsewhere."""
    features, amounts = people(seed)
    kind, value = (index.ravel() for index in np.indices(amounts.shape))
    leaf = min(trees.LEAF / amounts.sum(), 0.5)
    library = DecisionTreeClassifier(random_state=0, min_weight_fraction_leaf=leaf)
    library.fit(features[kind], value, amounts.ravel())
    found = Forest(features, amounts, n_drawn=6).shares(n_trees=3)
    is_anybody = amounts.any(axis=1)
    expected = library.predict_proba(features)
    np.testing.assert_allclose(found[is_anybody], expected[is_anybody])


@pytest.mark.parametrize("columns", [1, 4])
def test_random_cuts_learn_as_much(columns):
    random = np.random.default_rng(columns)
    features = random.integers(0, 50, (300, columns)).astype(float)
    chances = np.exp(np.sin(features @ random.normal(size=(columns, 5)) / 10) * 2)
    chances /= chances.sum(axis=1, keepdims=True)
    amounts = np.stack([random.multinomial(30, chance) for chance in chances]).astype(float)
    library = ExtraTreesRegressor(
        50, max_features="sqrt", min_weight_fraction_leaf=trees.LEAF / amounts.sum(), random_state=0
    )
    library.fit(features, amounts / 30, amounts.sum(axis=1))
    ours, theirs = Forest.of(features, amounts).shares(), library.predict(features)
    errors = [float(((shares - chances) ** 2).mean()) for shares in (ours, theirs)]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)
    assert errors[0] < 0.5 * float(((chances.mean(axis=0) - chances) ** 2).mean())


def test_trees_grow_in_parts(monkeypatch):
    features, amounts = np.arange(8.0)[:, None] // 4, np.arange(24.0).reshape(8, 3)
    forest = Forest.of(features, amounts)
    together = forest.shares(n_trees=5)
    monkeypatch.setattr(trees, "_AT_ONCE", 1)
    np.testing.assert_allclose(together, forest.shares(n_trees=5))
    assert together[0, 0] == pytest.approx(18 / 66)


@pytest.mark.parametrize("labels", [["inf", "-inf", "1"], ["nan", "2", None], ["x", "y", None]])
def test_odd_labels_are_features(labels):
    shares = Forest.of(features_of(labels), np.full((3, 2), 50.0)).shares()
    np.testing.assert_allclose(shares, 0.5)
