"""Memory of agents between iterations: bounded memory, failures seen by the debug agent, restart files."""
