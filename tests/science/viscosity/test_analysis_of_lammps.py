"""The analysis stages on what the compute stages really write."""

from sophron.interfaces.kind import UpstreamStep
from sophron.science.viscosity import cross_check, diffusion, green_kubo, rouse

from .analysis import checked, context


def test_green_kubo_of_a_short_liquid(tmp_path, liquid):
    """A short run of 108 beads: a number within a factor of two of 3.2 with a large error, or a typed refusal."""
    produced = [
        UpstreamStep("produce", {"replica": str(replica)}, step.result, step.files)
        for replica in range(2)
        for step in [liquid.run(tmp_path / str(replica), "produce", {"steps": 6000}, seed=replica + 1)]
    ]
    finished = green_kubo.run(
        context(tmp_path, "green_kubo", {"replicas": 2, "max_lag_tau": 5.0}, {"produce": produced})
    )
    result = checked(finished.result, "green_kubo")
    assert result["samples_total"] == 2 * 1201
    assert abs(result["temperature_mean"] - 0.722) < 0.1
    assert result["refused"] or 1.6 < result["viscosity"] < 6.4


def test_diffusion_of_a_short_liquid(tmp_path, liquid):
    """Three runs of 108 beads: near the 0.03 of the triple point, or refused for noise, but not for a bend."""
    changes = {"steps": 8000, "frame_every": 40, "restart_every": 2000}
    produced = [
        UpstreamStep("produce", {"replica": str(replica)}, step.result, step.files)
        for replica in range(3)
        for step in [liquid.run(tmp_path / str(replica), "produce", changes, seed=replica + 1)]
    ]
    viscosity = {"viscosity": 3.2, "viscosity_standard_error": 0.1, "degrees_of_freedom": 7}
    upstream = {"produce": produced, "green_kubo": [UpstreamStep("green_kubo", {}, viscosity, {})]}
    finished = diffusion.run(context(tmp_path, "diffusion", {"from_tau": 1.0, "to_tau": 8.0}, upstream))
    result = checked(finished.result, "diffusion")
    assert result["centre_share"] < 1e-6
    assert 0.5 < result["displacement"] < 2
    assert result["diffusion"] is None or 0.02 < result["diffusion"] < 0.06


def test_rouse_and_cross_check_of_a_short_melt(tmp_path, melt):
    made = melt.run(tmp_path / "produce", "produce", {"steps": 2000, "frame_every": 20, "restart_every": 500})
    produced = UpstreamStep("produce", {"replica": "0"}, made.result, made.files)
    modes = checked(rouse.run(context(tmp_path, "rouse", {"modes": 4}, {"produce": [produced]})).result, "rouse")
    assert modes["chain_length"] == 10
    assert modes["chains"] == 20
    assert 6 < modes["end_to_end_squared"] < 24
    assert modes["modes"][0]["amplitude"] > modes["modes"][3]["amplitude"] > 0
    definition = {"replicas": 1, "max_lag_tau": 4.0}
    integrated = green_kubo.run(context(tmp_path, "green_kubo", definition, {"produce": [produced]}))
    assert checked(integrated.result, "green_kubo")["refused"]
    sheared = melt.run(tmp_path / "shear", "shear")
    upstream = {
        "green_kubo": [UpstreamStep("green_kubo", {}, integrated.result, integrated.files)],
        "shear": [UpstreamStep("shear", {"rate": "0.1", "replica": "0"}, sheared.result, sheared.files)],
    }
    compared = checked(cross_check.run(context(tmp_path, "cross_check", {}, upstream)).result, "cross_check")
    assert compared["z"] is None
    assert not compared["extrapolation_reliable"]
