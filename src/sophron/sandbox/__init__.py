"""Running a program with nothing granted by default; one module a backend, found through `sophron.sandboxes`."""
