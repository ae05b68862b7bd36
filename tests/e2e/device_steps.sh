#!/usr/bin/env bash
# Steps measured on an H200 against what the program predicts for them: autocast, median within 6 %, every case within 12 %.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python3 tests/device/steps_table.py --judge --program "$TRUNKLINE" data/results/h200/torch_steps.csv
