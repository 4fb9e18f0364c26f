"""What measurements that were taken in turns say: their median, and the interval that holds the true median in 95 of 100 runs.

The interval comes from the order of the values alone, so it holds whatever their distribution is. The claim is never the
median: it is the end of the interval that is worse for Sonde."""

import math
import statistics

SURE = 0.95


def interval(values):
    """(lower end, upper end, how sure that is, from 0 to 1). Fewer than six values can never be 95 % sure: all of them then."""
    ordered, count = sorted(values), len(values)
    outside = [2 * sum(math.comb(count, i) for i in range(cut)) / 2 ** count for cut in range(1, count // 2 + 1)] or [1]
    cut = max(1, sum(chance <= 1 - SURE for chance in outside))
    return ordered[cut - 1], ordered[-cut], 1 - outside[cut - 1]


class Claim:
    """Values of pairs, with the end that is worse for Sonde."""

    def __init__(self, values, is_more_better):
        self.middle = statistics.median(values)
        self.low, self.high, self.sure = interval(values)
        self.figure = self.low if is_more_better else self.high


def ratio(ours, theirs, more=False):
    """How many times less (or `more`) of something Sonde needs (or does) than the other, pair by pair."""
    pairs = list(zip(ours, theirs, strict=True))
    return Claim([our / their if more else their / our for our, their in pairs], True)


def difference(without, with_it):
    """How much more something is with Sonde than without, pair by pair."""
    return Claim([after - before for before, after in zip(without, with_it, strict=True)], False)
