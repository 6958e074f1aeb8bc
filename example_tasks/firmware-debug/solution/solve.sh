#!/bin/bash
set -e
cp /solution/stream_wrapper.sv /app/sim/rtl/stream_wrapper.sv
cd /app/sim
python3 run_sim.py
python3 run_sim.py --pause 0.4 --seed 7
