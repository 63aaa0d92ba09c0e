#!/usr/bin/env bash
# Profile a whole machine in one go, by default in eight minutes.
#
#   scripts/profile_gpu_machine.sh [FOLDER]
#
# DEVICE   what to measure (default: cuda:0 where there is a GPU, else cpu)
# BUDGET   seconds for everything (default: 480), kept to within five
# PYTHON   the interpreter that has torch (default: python3)
#
# Everything is read, nothing is set: clocks, power limits and MIG stay as they are. Each part has
# its own time limit, so that a part that hangs does not take the others' results with it.
set -u

cd "$(dirname "$0")/.."
folder=${1:-profile-out}
python=${PYTHON:-python3}
budget=${BUDGET:-480}
mkdir -p "$folder" || exit 2

gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())') || {
    echo "torch does not load in $python: pip install 'forerun[profile]'" >&2
    exit 2
}
if [ "$gpus" -gt 0 ]; then device=${DEVICE:-cuda:0}; else device=${DEVICE:-cpu}; fi
failed=0

part() { # name, seconds, command...
    local name=$1 seconds=$(($2 + budget / 10)) start=$SECONDS left=$((budget - SECONDS))
    shift 2
    [ "$seconds" -gt "$left" ] && seconds=$left
    if [ "$seconds" -lt 3 ]; then
        echo "$name: left out, no time left"
        return 0
    fi
    timeout --signal=INT --kill-after=5 "$seconds" "$@" \
        > "$folder/$name.txt" 2> "$folder/$name.log"
    local status=$?
    echo "$name: status $status, $((SECONDS - start)) s"
    [ "$status" -ne 0 ] && failed=1
    return 0
}

# shares of the budget, in hundredths
share() { echo $((budget * $1 / 100)); }

command -v nvidia-smi > /dev/null && nvidia-smi -q > "$folder/nvidia-smi.txt" 2>&1

part profile "$(share 50)" "$python" -m profiles --device "$device" --full \
    --limit "$(share 50)" --out "$folder/profile.json" --resume
part study "$(share 10)" "$python" -m profiles --device "$device" --study diffusion \
    --limit "$(share 10)" --figure "$folder/diffusion.svg"

# into the profile, where plans of several devices look for them
together=$folder/profile.json
[ -f "$together" ] || together=$folder/collectives.json
ranks=$gpus
[ "$ranks" -eq 0 ] && ranks=2
if [ "$ranks" -gt 1 ]; then
    part collectives "$(share 10)" "$python" -m torch.distributed.run --nproc-per-node "$ranks" \
        -m profiles.collectives --seconds 0.5 --most $((1 << (gpus > 0 ? 28 : 20))) \
        --out "$together"
fi

if [ "$gpus" -gt 0 ] || [ "$budget" -ge 240 ]; then # one step of the model takes seconds on a CPU
    model=gpt2-124m length=1024 batch=8
    [ "$gpus" -eq 0 ] && length=64 batch=1
    "$python" -c 'import yaml' 2> /dev/null && for compile in none regional; do
        [ "$compile" = regional ] && [ "$gpus" -eq 0 ] && continue
        part "step-$compile" "$(share 10)" "$python" -m planner.cli profile --device "$device" \
            --model "$model" --seq-len "$length" --micro-batch "$batch" --precision bf16 \
            --compile "$compile" --steps 10 --limit "$(share 10)" --json
    done
fi

echo "all in $folder after $SECONDS s"
exit "$failed"
