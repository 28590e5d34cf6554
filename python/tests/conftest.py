import pytest

import hashbrook


@pytest.fixture(scope="session")
def digits():
    return hashbrook.datasets.digits()


@pytest.fixture(scope="session")
def model(digits):
    X, y = digits
    model = hashbrook.Model("brook", dim=64, bits=64, warmup=500, anchors=200)
    model.learn(X, y)
    return model


@pytest.fixture(scope="session")
def function(model):
    return model.hash_function()
