"""Date levels: days, months, quarters, years and decades."""

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.hierarchy.laying import lay, path_of

from foreknow.data.hierarchy import DateLevels


def test_dates():
    domain = [date(2024, 12, 31), date(2024, 3, 5), None, date(2019, 4, 1), date(24, 4, 1)]
    levels = lay(DateLevels(("day", "month", "quarter", "year", "decade")), domain)
    assert DateLevels().periods == ("month", "quarter", "year", "decade")
    assert [domain[i] for i in levels.order] == [None, *sorted(d for d in domain if d)]
    assert path_of(levels, domain, date(2024, 3, 5)) == [
        "2024-03-05",
        "2024-03",
        "2024-Q1",
        "2024",
        "2020s",
        "*",
    ]
    assert path_of(levels, domain, date(24, 4, 1))[1:] == [
        "0024-04",
        "0024-Q2",
        "0024",
        "0020s",
        "*",
    ]


def test_date_times_of_any_zone_follow_their_own_clock():
    west = timezone(timedelta(hours=-5))
    domain = [
        datetime(2024, 3, 6, 0, 10, tzinfo=UTC),
        datetime(2024, 3, 5, 23, 30, tzinfo=west),  # later, but the day before
        datetime(2024, 3, 6, 12),
        "2024-03-05T10:00:00",
        date(2024, 3, 5),
    ]
    levels = lay(DateLevels(["day"]), domain)
    assert levels.order.tolist() == [4, 3, 1, 0, 2]
    assert levels.labels[0] == ("2024-03-05", "2024-03-06")


@examples(100)
@given(
    st.lists(st.datetimes() | st.dates().map(date.isoformat) | st.none(), unique=True),
    st.sets(st.sampled_from(["day", "month", "quarter", "year", "decade"]), min_size=1),
)
def test_dates_keep_time_order(domain, periods):
    chosen = [p for p in ("day", "month", "quarter", "year", "decade") if p in periods]
    levels = lay(DateLevels(chosen), domain)
    days = [str(domain[i])[:10] for i in levels.order if domain[i] is not None]
    assert days == sorted(days)
    assert all(a < b for names in levels.labels[:-1] for a, b in pairwise(names) if a != "missing")
