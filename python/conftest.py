from importlib.util import find_spec

# Looked at for examples in their texts, which means to import them.
collect_ignore = [
    file
    for file, needs in [
        ("hashbrook/_torch.py", "torch"),
        ("hashbrook/_onnx.py", "onnx"),
        ("hashbrook/sklearn.py", "sklearn"),
    ]
    if find_spec(needs) is None
]
