"""The data of FleetX's workloads with parameter servers, ctr and word2vec, for the scripts of profiles: synthetic, and they can be learned.
Words and features are as often as in Zipf's law. A click depends on a hidden weight of each feature and number, and on chance; a neighbour
has the same last digit as its word. Imports numpy late, as benchd_replica.py does."""

SLOTS, NUMBERS, WIDTH = 26, 13, 10  # of ctr
NEGATIVES, TOPICS = 5, 10           # of word2vec
ZIPF = 1.1


class Ctr:
    """A click is predicted from 13 numbers and 26 features: rows of 10 numbers, three layers. A sample is one of them."""
    rate = .2  # of learning

    def __init__(self, numpy, size):
        self.numpy, self.rows, self.width = numpy, (1_000_001 if size == "full" else 10_001), WIDTH
        self.layers = (400 if size == "full" else 64,) * 3
        random = numpy.random.default_rng(1)
        self.truth, self.weights = random.standard_normal(self.rows), random.standard_normal(NUMBERS)

    def draw(self, random, n):
        """Row numbers (n, 26), what is true (n, 1), the numbers (n, 13)."""
        numpy = self.numpy
        ids, x = random.zipf(ZIPF, (n, SLOTS)) % self.rows, random.standard_normal((n, NUMBERS))
        odds = self.truth[ids].sum(1) / SLOTS ** .5 + x @ self.weights / NUMBERS ** .5
        clicks = random.random(n) < 1 / (1 + numpy.exp(-2 * odds))
        return ids, clicks.astype("float32")[:, None], x.astype("float32")


class Word2Vec:
    """Skip-gram. A sample is a word, one of its neighbours and five that are not: row w is word w as the one in the middle, row `words` + w
    as a neighbour."""
    rate = 5.

    def __init__(self, numpy, size):
        self.numpy, (self.words, self.width) = numpy, ((350_000, 300) if size == "full" else (10_000, 32))
        self.rows = 2 * self.words

    def draw(self, random, n):
        """Row numbers (n, 7), what is true (n, 6)."""
        ids = random.zipf(ZIPF, (n, 2 + NEGATIVES)) % self.words
        ids[:, 1] += ids[:, 0] % TOPICS - ids[:, 1] % TOPICS
        ids[:, 1:] += self.words
        truths = self.numpy.zeros((n, 1 + NEGATIVES), "float32")
        truths[:, 0] = 1
        return ids, truths
