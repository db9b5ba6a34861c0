"""A benchmark that misses its target."""


def run():
    return {"ratio": 7}


def missed(found):
    return ["eight"] if found["ratio"] < 8 else []
