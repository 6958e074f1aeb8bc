"""Snakemake's own cases for executors."""

import pytest
from snakemake.common.tests import TestWorkflowsLocalStorageBase

from snakemake_executor_plugin_dpdispatcher import ExecutorSettings


class Conformance(TestWorkflowsLocalStorageBase):
    batch_type = "Shell"

    def get_executor(self):
        return "dpdispatcher"

    def get_executor_settings(self):
        return ExecutorSettings(batch_type=self.batch_type)

    @pytest.fixture(autouse=True)
    def _no_profile(self, tmp_path_factory, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


class TestShell(Conformance):
    __test__ = True


@pytest.mark.queues
class TestSlurm(Conformance):
    __test__ = True
    batch_type = "Slurm"

    @pytest.fixture(autouse=True)
    def _queue(self, slurm, monkeypatch):
        monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])


@pytest.mark.queues
class TestSlurmJobArray(TestSlurm):
    batch_type = "SlurmJobArray"
