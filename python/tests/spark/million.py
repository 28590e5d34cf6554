"""How large the data of the tests on a cluster is, and what is learned from it."""

ROWS, DIM, CLASSES = 1_000_000, 128, 20
SETTINGS = {"bits": 64, "seed": 1, "anchors": 200, "warmup": 2000}
