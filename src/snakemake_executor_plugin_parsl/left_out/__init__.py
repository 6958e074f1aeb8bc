"""Stand before packages that Parsl imports where it finds them and that no block uses: half of a worker's start."""
