"""Snakemake executor plugin: jobs go through DPDispatcher to Shell, Slurm, PBS, Torque, LSF, SGE or Bohrium.

Snakemake imports this package at every start, to find it: dpdispatcher itself is imported at the first job.
"""

from dataclasses import dataclass, field

from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase

from snakemake_executor_plugin_dpdispatcher.executor import Executor

__all__ = ["Executor", "ExecutorSettings", "common_settings"]


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]  # an untyped base
    """Settings of `--executor dpdispatcher`."""

    machine: str | None = field(
        default=None,
        metadata={
            "help": "YAML or JSON file with the sections `machine` and `resources` of DPDispatcher.",
            "env_var": False,
            "required": False,
            "type": str,
        },
    )
    batch_type: str | None = field(
        default=None,
        metadata={
            "help": "Queue of this machine, where no machine file is given: Shell (default), Slurm, SlurmJobArray, "
            "PBS, Torque, LSF or SGE.",
            "env_var": False,
            "required": False,
            "type": str,
        },
    )
    group_size: int = field(
        default=1,
        metadata={
            "help": "Most steps that one scheduler job runs one after the other (its wall time is their sum). "
            "SlurmJobArray needs none: each of its steps is an element of the array.",
            "env_var": False,
            "required": False,
            "type": int,
        },
    )


# Declared environment variables would put secret values into command lines: the plugin passes harmless ones itself.
common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)
