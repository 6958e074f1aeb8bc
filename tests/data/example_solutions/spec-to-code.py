from pathlib import Path

Path("codec.py").write_text("""
HEAD = bytes.fromhex("57524C31")


def number(value):
    groups = []
    while value > 127:
        groups.append(value % 128 + 128)
        value //= 128
    return bytes([*groups, value])


def encode(samples):
    steps = [after - before for before, after in zip([0, *samples], samples)]
    out, place = HEAD + number(len(samples)), 0
    while place < len(steps):
        end = place
        while end < len(steps) and steps[end] == 0:
            end += 1
        if end > place:
            out += number(0) + number(end - place)
            place = end
        else:
            step = steps[place]
            out += number(2 * step - 1 if step > 0 else -2 * step)
            place += 1
    return out


def numbers(data):
    value, shift, whole = 0, 1, True
    for byte in data:
        value, shift, whole = value + byte % 128 * shift, shift * 128, byte < 128
        if whole:
            yield value
            value, shift = 0, 1
    if not whole:
        raise ValueError("it ends within a number")


def decode(data):
    if not data.startswith(HEAD):
        raise ValueError("no head")
    words = numbers(data[4:])
    count, samples, last = next(words, None), [], 0
    for word in words:
        if word:
            last += (word + 1) // 2 if word % 2 else -(word // 2)
            samples.append(last)
        else:
            run = next(words, None)
            if run is None or run > 10**7:
                raise ValueError("no run")
            samples += [last] * run
    if len(samples) != count or any(abs(2 * sample + 1) > 65535 for sample in samples):
        raise ValueError("another number of samples, or one out of range")
    return samples
""")
Path("test_codec.py").write_text("""
import unittest

from codec import decode, encode


class Codec(unittest.TestCase):
    def test_round_trips(self):
        for wave in ([], [9] * 130 + [4], [4, 9, 9, 9], [-32768, 32767, -32768], [0] * 300 + [-1, 1], [0, 0]):
            with self.subTest(wave[:4]):
                self.assertEqual(decode(encode(wave)), wave)

    def test_the_page(self):
        data = bytes.fromhex("57524C310405000204")
        self.assertEqual(encode([3, 3, 3, 1]), data)
        self.assertEqual(decode(data), [3, 3, 3, 1])

    def test_what_is_no_file(self):
        for data in (b"WRL2\\x01\\x05", b"WRL1\\x02\\x05"):
            with self.assertRaises(ValueError):
                decode(data)
""")
