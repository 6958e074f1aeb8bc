"""WRL1 as the page has it, and codecs that are wrong in one place each."""

import random
import textwrap

SOURCE = """
def varint(number):
    out = bytearray()
    while True:
        number, group = number >> 7, number & 127
        out.append(group | (128 if number else 0))
        if not number:
            return bytes(out)


def encode(samples):
    out, before, run = bytearray(b"WRL1" + varint(len(samples))), 0, 0
    for sample in samples:
        step, before = sample - before, sample
        if step == 0:
            run += 1
            continue
        if run:
            out += b"\\0" + varint(run)
        run = 0
        out += varint(2 * step - 1 if step > 0 else -2 * step)
    if run:
        out += b"\\0" + varint(run)
    return bytes(out)


def decode(data):
    if data[:4] != b"WRL1":
        raise ValueError("head")
    place = 4

    def number():
        nonlocal place
        value, shift = 0, 0
        while True:
            if place >= len(data):
                raise ValueError("end")
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    count, samples, before = number(), [], 0
    while place < len(data):
        word = number()
        if word == 0:
            run = number()
            if len(samples) + run > count:
                raise ValueError("more")
            samples += [before] * run
            continue
        before += (word + 1) // 2 if word % 2 else -word // 2
        if not -32768 <= before <= 32767:
            raise ValueError("range")
        samples.append(before)
    if len(samples) != count:
        raise ValueError("count")
    return samples
"""
MUTATIONS = {
    "a run ends at 127": ("varint(run)", "varint(run % 128)"),
    "a run at the end is lost": ('    if run:\n        out += b"\\0" + varint(run)\n    return', "    return"),
    "steps end at 16 bits": (
        "step, before = sample - before",
        "step, before = (sample - before + 32768) % 65536 - 32768",
    ),
    "the head is not looked at": ('data[:4] != b"WRL1"', "False"),
    "fewer samples are no error": ("len(samples) != count", "len(samples) > count"),
    "signs are changed": ("2 * step - 1 if step > 0 else -2 * step", "2 * step if step > 0 else -2 * step - 1"),
    "no samples cannot be written": ("before, run = bytearray", "before, run = samples[0] * 0 or bytearray"),
}


def right() -> dict:
    """The functions of the reference."""
    names: dict = {}
    exec(SOURCE, names)
    return names


def mutants() -> dict[str, str]:
    """What is wrong -> the code of such a codec."""
    made = {about: SOURCE.replace(*change) for about, change in MUTATIONS.items()}
    assert SOURCE not in made.values(), "a change changes nothing"
    return {about: textwrap.dedent(text) for about, text in made.items()}


def waveforms(seed: int) -> list[list[int]]:
    """Waveforms with runs, extremes and noise."""
    draw = random.Random(seed)
    made = [[], [0], [0] * 200, [-32768, 32767] * 3, [7] * 128 + [8], [5, 5, 5]]
    for _ in range(30):
        wave: list[int] = []
        while len(wave) < draw.randrange(1, 400):
            wave += [draw.choice([draw.randrange(-32768, 32768), draw.randrange(-3, 4)])] * draw.choice([1, 1, 2, 300])
        made.append(wave)
    return made
