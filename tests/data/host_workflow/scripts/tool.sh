source scripts/inner.sh; ls $1
