"""Pattern files of plain columns, and what is said of broken ones."""

import numpy as np
import pytest

from sophron.interfaces.rietveld import Pattern
from sophron.records.errors import UserError
from sophron.science.rietveld.pattern import check, read
from sophron.science.rietveld.rietx_engine import Rietx

ANGLES = np.arange(10.0, 20.0, 0.1)


def text(rows=None, *, angles=ANGLES, extra=""):
    lines = [f"{angle:.3f} {100 + number}{extra}" for number, angle in enumerate(angles)]
    for number, row in (rows or {}).items():
        lines[number] = row
    return "# made\n" + "\n".join(lines) + "\n"


def test_columns_are_read_as_they_stand(tmp_path):
    path = tmp_path / "one.xy"
    path.write_text(text())
    found = read(path, Rietx())
    assert found.two_theta_deg == pytest.approx(ANGLES)
    assert found.intensity[3] == 103
    assert found.sigma is None
    with_esd = tmp_path / "one.xye"
    with_esd.write_text(text(extra=", 10"))
    assert read(with_esd, Rietx()).sigma[0] == 10


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (text({4: "10.4 nan"}), 'line 6: "10.4 nan" has a value that is not finite'),
        (text({4: "10.4 inf"}), "not finite"),
        (text({4: "10.4"}), "line 6 has 1 columns, not 2"),
        (text({4: "10.4 104 10"}), "line 6 has 3 columns, not 2"),
        (text({4: "angle counts"}), 'line 6: "angle counts" is not numbers'),
        (text({4: "10.4 -3"}), "-3 counts at 10.4 degrees"),
        (text({4: "10.3 104"}), "does not rise after 10.3 degrees"),
        (text(angles=np.concatenate([ANGLES[:40], ANGLES[60:]])), "a gap from 13.9 to 16 degrees"),
        (text(angles=ANGLES[:10]), "10 points; a pattern has at least 50"),
        (text(angles=ANGLES * 100), "degrees between 0 and 180"),
        ("", "0 points"),
        ("\n".join(f"{angle:.2f} 0" for angle in ANGLES), "no counts anywhere"),
    ],
)
def test_a_broken_file_is_one_sentence_with_its_place(tmp_path, content, said):
    path = tmp_path / "broken.xy"
    path.write_text(content)
    with pytest.raises(UserError) as error:
        read(path, Rietx())
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_text_or_not_there(tmp_path):
    binary = tmp_path / "binary.xy"
    binary.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(UserError, match="not a text file"):
        read(binary, Rietx())
    with pytest.raises(UserError, match="No such file"):
        read(tmp_path / "none.xy", Rietx())
    with pytest.raises(UserError, match="not a pattern file"):
        read(tmp_path, Rietx())


def test_deviations_have_to_be_above_zero():
    sigma = np.ones_like(ANGLES)
    sigma[7] = 0.0
    with pytest.raises(UserError, match=r"the standard deviation at 10.7 degrees is not above 0"):
        check(Pattern("given", ANGLES, ANGLES, sigma))
    sigma[7] = np.nan
    with pytest.raises(UserError, match="the standard deviation of point 8 is not finite"):
        check(Pattern("given", ANGLES, ANGLES, sigma))


def test_zeros_that_fill_a_file_are_no_counts(tmp_path):
    """After hundreds of counts a zero is none; after few it is one."""
    path = tmp_path / "filled.xy"
    path.write_text(text({len(ANGLES) - 2: f"{ANGLES[-2]:.3f} 0", len(ANGLES) - 1: f"{ANGLES[-1]:.3f} 0"}))
    found = read(path, Rietx())
    assert found.two_theta_deg == pytest.approx(ANGLES[:-2])
    assert found.intensity.size == ANGLES.size - 2
    path.write_text("\n".join(f"{angle:.3f} {number % 3}" for number, angle in enumerate(ANGLES)))
    assert read(path, Rietx()).intensity[-1] == (ANGLES.size - 1) % 3
    path.write_text("\n".join(f"{angle:.3f} {(number + 1) % 2}" for number, angle in enumerate(ANGLES)))
    assert read(path, Rietx()).intensity.size == ANGLES.size
