"""A made-up register in which people have several diagnoses, one, or none."""

import numpy as np
import pyarrow as pa

ZIPS = 400
DIAGNOSES = [f"D{i:02d}" for i in range(30)]
SEMANTICS = ["set", "multiset"]


def diagnoses(people=1000, seed=0, *, semantics="set", listed=False):
    """Person, age, sex, zip code and diagnosis, in a random order of rows.

    About one person in twenty has no diagnosis, the others have 1 to 6, most of them few. How
    common a diagnosis is falls like 1/rank.

    Parameters
    ----------
    people : int
    seed : int
    semantics : "set" or "multiset"
        Whether a diagnosis of one person may come again.
    listed : bool
        One row per person with a list, instead of one row per person and diagnosis; a null row
        for those who have none.
    """
    random = np.random.default_rng(seed)
    many = np.minimum(random.geometric(0.45, people), 6)
    many[random.random(people) < 0.05] = 0
    weights = 1 / np.arange(1.0, len(DIAGNOSES) + 1)
    if semantics == "set":
        # The first of a weighted shuffle: the largest keys of log-weight and Gumbel noise.
        keys = np.log(weights) + random.gumbel(size=(people, len(DIAGNOSES)))
        drawn = np.argsort(-keys, axis=1)[:, :6]
    else:
        drawn = random.choice(len(DIAGNOSES), (people, 6), p=weights / weights.sum())
    codes = drawn[np.arange(6) < many[:, None]]
    about = {
        "person": pa.array([f"p{i:06d}" for i in random.permutation(people)]),
        "age": pa.array(random.integers(18, 95, people)),
        "sex": pa.array(np.array(["f", "m"])[random.integers(0, 2, people)]),
        "zip": pa.array([f"{z:05d}" for z in 10000 + 7 * random.integers(0, ZIPS, people)]),
    }
    values = pa.array(DIAGNOSES).take(pa.array(codes))
    if listed:
        offsets = np.concatenate(([0], np.cumsum(many)))
        about["diagnosis"] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        return pa.table(about).take(pa.array(random.permutation(people)))
    rows = np.maximum(many, 1)
    of_row = np.repeat(np.arange(people), rows)
    first = np.cumsum(rows) - rows
    place = np.arange(len(of_row)) - first[of_row]
    at = (np.cumsum(many) - many)[of_row] + place
    at = np.where(many[of_row] > 0, at, -1)
    long = pa.table(about).take(pa.array(of_row))
    long = long.append_column("diagnosis", values.take(pa.array(at, mask=at < 0)))
    return long.take(pa.array(random.permutation(len(long))))
