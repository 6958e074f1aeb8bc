"""The viscosity kind: build, relax, equilibrate, produce, green_kubo; for melts also shear, rouse, cross_check."""
