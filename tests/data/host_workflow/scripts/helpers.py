def shout(x):
    return x.upper()
