"""A stream from river, one row at a time, searched as rows arrive.

river returns rows as dictionaries. A model learns the rows a hundred at a time. Each new row is first used as a
query: do its nearest neighbours among the earlier rows have its label?

    pip install river
    python python/examples/river_stream.py
"""

from collections import Counter

import numpy as np
from river import datasets, metrics, preprocessing

from hashbrook import Index, Model

BATCH = 100

scaler = preprocessing.StandardScaler()
model, index = Model("brook", dim=9, bits=32, center=None, warmup=BATCH), None
right, rows, labels = metrics.Accuracy(), [], []

for number, (x, y) in enumerate(datasets.Phishing()):
    scaler.learn_one(x)
    x = scaler.transform_one(x)
    vector = np.array([[x[name] for name in sorted(x)]], dtype=np.float32)
    if index is not None:
        near = index.search(vector, 5)
        votes = Counter(label for label, in index.labels_of(near.ids[0][: near.found[0]]))
        right.update(y_true=str(int(y)), y_pred=votes.most_common(1)[0][0])
    rows.append(vector[0])
    labels.append(int(y))
    if (number + 1) % BATCH == 0:
        model.learn(rows[-BATCH:], labels[-BATCH:])
        # All stored rows are re-encoded, because an index never mixes two functions.
        index = Index(model.hash_function())
        index.add(range(len(rows)), rows, labels)

print(f"{model.seen} rows learned, {len(index)} in the index; the five nearest agree with a new row: {right}")
assert right.get() > 0.8
