import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.viscosity import npz_stream


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_pieces_are_the_array(tmp_path, save, size):
    array = np.random.default_rng(1).normal(size=(20, 3, 2)).astype(np.float32)
    save(tmp_path / "a.npz", array=array, interval=0.5)
    pieces = list(npz_stream.rows(tmp_path / "a.npz", "array", size))
    assert np.array_equal(np.concatenate(pieces), array)
    assert max(len(piece) for piece in pieces) <= size
    assert npz_stream.shape_of(tmp_path / "a.npz", "array") == (20, 3, 2)
    assert npz_stream.scalars(tmp_path / "a.npz", "interval") == (0.5,)


def test_what_cannot_be_read(tmp_path):
    np.savez(tmp_path / "f.npz", array=np.asfortranarray(np.ones((4, 3))))
    with pytest.raises(EngineFailure, match="Fortran"):
        list(npz_stream.rows(tmp_path / "f.npz", "array", 2))
    with pytest.raises(EngineFailure, match=r"f\.npz cannot be read"):
        npz_stream.scalars(tmp_path / "f.npz", "volume")
    (tmp_path / "g.npz").write_bytes(b"cut off")
    with pytest.raises(EngineFailure, match=r"g\.npz cannot be read"):
        npz_stream.scalars(tmp_path / "g.npz", "volume")
