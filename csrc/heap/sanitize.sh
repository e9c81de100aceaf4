#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The stress of benchmarks/heap_stress.py with the walk built for gcc's address sanitizer and every Python object in a
# malloc block of its own, so that a read of a freed object ends the run.
#   csrc/heap/sanitize.sh [SECONDS] [PYTHON]
set -eu
seconds=${1:-60}
python=${2:-python3}
here=$(cd "$(dirname "$0")" && pwd)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
sources=$(find "$here" -name '*.c' ! -name idset.c)
# shellcheck disable=SC2086 # a list of files
gcc -shared -fPIC -O1 -g -fno-omit-frame-pointer -fsanitize=address -std=c11 -DPy_LIMITED_API=0x030A0000 \
    -I"$include" $sources -o "$built/_heap.abi3.so"
cat >"$built/run.py" <<'PYTHON'
import importlib.util, runpy, sys
built, script, *arguments = sys.argv[1:]
spec = importlib.util.spec_from_file_location("vllm_soak.heap._heap", built)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.modules[spec.name] = module
sys.argv = [script, *arguments]
runpy.run_path(script, run_name="__main__")
PYTHON
LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
    "$python" -X faulthandler "$built/run.py" "$built/_heap.abi3.so" "$here/../../benchmarks/heap_stress.py" --seconds "$seconds"
