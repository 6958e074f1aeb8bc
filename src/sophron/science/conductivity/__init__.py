"""The conductivity kind: thermal conductivity by Green-Kubo, or by an imposed flux extrapolated to infinite length."""
