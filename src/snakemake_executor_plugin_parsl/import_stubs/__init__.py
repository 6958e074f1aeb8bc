"""Empty stubs that shadow optional Parsl dependencies, so that workers start in half the time."""
