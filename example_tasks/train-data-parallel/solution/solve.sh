#!/bin/bash
set -e
cp /solution/train.py /app/train.py
cd /app && python3 train.py --workers 2 events.npz weights.npz
