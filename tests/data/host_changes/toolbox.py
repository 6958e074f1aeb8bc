from lib import deeper


def shout(text):
    return deeper.change(text)
