#!/bin/bash
apt-get update
apt-get install -y curl
python3 /tests/check.py
if [ $? -eq 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
