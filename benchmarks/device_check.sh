#!/usr/bin/env bash
# Checks and measures gpuclf on a machine with an NVIDIA card and a Python of its own, in under 8 minutes.
#
#   bash benchmarks/device_check.sh           with the card; without one it says so and runs on the CPU
#   bash benchmarks/device_check.sh --dry     the same steps in small on the CPU, to test this script
#
# Runs the tests of ops and learners on the card, then every family on it beside the processor (device_figures: results
# compared, then times), then grids of linear models beside scikit-learn, and prints what came of each and the figures.
#
# Figures and logs go to $OUT (default runs/device_check). The machine may be cut off from package indexes: what its
# Python lacks is installed from wheels/ beside the checkout's pyproject.toml, into a folder of its own. To fill it, on
# a machine that has an index, for the Python version P (e.g. 3.12) of the other machine:
#
#   python -m pip download --no-deps --only-binary=:all: --python-version P --implementation cp \
#     --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 -d wheels \
#     pydantic pydantic-core annotated-types typing-inspection ruamel.yaml
#
# (pydantic-core is compiled: it must be the version that pydantic asks for. One version of each.)
#
# Variables: PYTHON (default python3), OUT, GPUCLF_DATA (20 Newsgroups is measured where it is found, else BANKING77).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

dry=
[[ "${1:-}" == --dry ]] && dry=1
python=${PYTHON:-python3}
out=${OUT:-runs/device_check}
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
rm -f "$out"/device_figures.*
export PYTHONUNBUFFERED=1 CUBLAS_WORKSPACE_CONFIG=:4096:8

site=
cleanup() { [[ -n "$site" ]] && rm -rf "$site"; }
trap cleanup EXIT
if compgen -G 'wheels/*.whl' >/dev/null; then
  site=$(mktemp -d)
  "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" wheels/*.whl || exit 1
  export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
fi

missing=$("$python" - <<'PY'
from importlib.util import find_spec
needed = "torch numpy numba scipy pydantic ruamel.yaml safetensors rich matplotlib pyarrow tensorboard sklearn pytest hypothesis"
def absent(name):
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True
print(*[name for name in needed.split() if absent(name)])
PY
) || exit 1
if [[ -n "$missing" ]]; then
  echo "this Python lacks: $missing; put wheels into wheels/ (see the head of this script)" >&2
  exit 1
fi

device=cpu
if [[ -z "$dry" ]] && "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  device=cuda
else
  echo "no CUDA device is used: everything runs on the CPU"
fi
threads=$("$python" -c 'import os; print(min(16, len(os.sched_getaffinity(0))))')

results=()
failed=0
budget=470 # seconds of the whole script
[[ -n "$dry" ]] && budget=3600 # a dry run tests the script, however busy the machine is
# part NAME SECONDS COMMAND…: runs it within the seconds, or what is left of them, keeps its output in $out/NAME.log,
# notes what came of it.
part() {
  local name=$1 limit=$2 began=$SECONDS rc
  shift 2
  ((limit > budget - SECONDS)) && limit=$((budget - SECONDS))
  ((limit > 5)) || { results+=("$(printf '%-12s not begun: no time left' "$name")") && failed=1 && return; }
  echo "== $name"
  timeout --kill-after=10 "$limit" "$@" >"$out/$name.log" 2>&1
  rc=$?
  case $rc in
    0) results+=("$(printf '%-12s ok      %4d s' "$name" $((SECONDS - began)))") ;;
    124 | 137) results+=("$(printf '%-12s over its %d s' "$name" "$limit")") && failed=1 ;;
    *) results+=("$(printf '%-12s failed  %4d s, see %s.log' "$name" $((SECONDS - began)) "$name")") && failed=1 ;;
  esac
  tail -n 14 "$out/$name.log"
}

# The project's pytest settings hold, but for a plugin that this Python may lack (random order) and for warnings, which
# differ between versions of the libraries.
run_pytest=("$python" -m pytest -q -p no:randomly -o "addopts=--import-mode=importlib --strict-markers" -W default)
figures=("$python" -m benchmarks.device_figures --device "$device" --out "$out" --threads "$threads")
if [[ -n "$dry" ]]; then
  part ops 1200 "${run_pytest[@]}" -m "not slow" tests/ops/test_counter_hash.py
  part figures 1200 "${figures[@]}" --dry
  part linear 1200 "$python" -m benchmarks.linear --quick --only mira --folds 2 --device cpu
else
  part ops 120 "${run_pytest[@]}" -m "not slow" tests/ops
  part contract 70 "${run_pytest[@]}" -m "not slow" tests/contract tests/models/test_decomposable_words.py::test_devices_agree
  part figures 190 "${figures[@]}" --seconds 150
  data=(--quick)
  [[ -f "${GPUCLF_DATA:-../shared/data}/text/20news/train.tsv.gz" ]] && data=(--data 20news)
  part linear 240 "$python" -m benchmarks.linear "${data[@]}" --device "$device" --threads "$threads"
fi

{
  "$python" - "$device" <<'PY'
import sys
import torch
from benchmarks.measure import surroundings
print(surroundings(torch.device(sys.argv[1])))
PY
  printf '%s\n' "${results[@]}"
  [[ -f "$out/device_figures.txt" ]] && printf '\n' && tail -n +3 "$out/device_figures.txt"
} | tee "$out/summary.txt"
exit "$failed"
