from importlib.util import find_spec

# pytest imports these files to search them for doctests, which fails without the packages.
collect_ignore = [
    file
    for file, needs in [
        ("hashbrook/_torch.py", "torch"),
        ("hashbrook/_onnx.py", "onnx"),
        ("hashbrook/sklearn.py", "sklearn"),
    ]
    if find_spec(needs) is None
]
