"""What a build hands out: a package of the agent, the endpoint that serves it, and the trail of how it came to be."""
