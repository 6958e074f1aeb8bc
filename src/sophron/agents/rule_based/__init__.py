"""Rules of thumb, one module an agent: deterministic answers from the inputs alone, with no language model."""
