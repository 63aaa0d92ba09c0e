"""What a plan's words become in each trainer, and what is refused by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import yaml

from planner.engine.choices import SHARDINGS
from planner.errors import PlannerError
from planner.search.restrictions import restrictions
from planner.search.space import space
from planner.trainers import TARGETS, Export, Job, export, target
from planner.trainers.holds import HOLDS, LAUNCHERS, holders
from planner.trainers.narrow import narrowed, runnable
from tests.trainers.jobs import job, run_of
from tests.trainers.plans import plan
from tests.trainers.read_back import arguments, assigned, toml


def _yaml(name: str, made: Job) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(export(name, made).files[0].text)
    return found


def _json(name: str, made: Job) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(export(name, made).files[0].text)
    return found


def _flags(made: Job) -> dict[str, list[str]]:
    return arguments(export("megatron", made).files[0].text)


def _left(made: Export) -> dict[str, str]:
    return {each.what: each.says for each in made.left}


def test_a_pipeline_of_torchtitan_holds_all_micro_batches_in_its_local_batch() -> None:
    made = plan("sharded pipeline")
    for values in (
        assigned(export("torchtitan", made).files[0].text),
        toml(export("torchtitan", made).file(".toml")),
    ):
        assert values["parallelism.pipeline_parallel_microbatch_size"] == made.made.micro_batch
        accumulated = made.made.micro_batch * made.made.accumulation
        assert values["training.local_batch_size"] == accumulated
        assert values["parallelism.pipeline_parallel_schedule"] == "Interleaved1F1B"
        assert values["parallelism.pipeline_parallel_layers_per_stage"] == 32 // (2 * 4)
        assert values["parallelism.fsdp_reshard_after_forward"] == "always"


@pytest.mark.parametrize(
    ("word", "torchtitan"),
    [("none", "None"), ("selective", "SelectiveAC.Config()"), ("full", "FullAC.Config()")],
)
def test_recomputation_keeps_its_grade(word: str, torchtitan: str) -> None:
    made = job(training__recompute=word)
    values = assigned(export("torchtitan", made).files[0].text)
    assert values["activation_checkpoint"] == (None if word == "none" else torchtitan)
    flags = _flags(made)
    assert flags.get("--recompute-granularity", ["none"]) == [word]
    assert ("--recompute-method" in flags) == (word == "full")


def test_sharding_keeps_its_stage() -> None:
    zero2 = job(training__layout={"sharding": "zero2"})
    zero1 = job(training__layout={"sharding": "zero1"})
    assert _json("deepspeed", zero2)["zero_optimization"]["stage"] == 2
    assert _yaml("accelerate", zero2)["fsdp_config"]["fsdp_reshard_after_forward"] is False
    assert _yaml("accelerate", zero1)["deepspeed_config"]["zero_stage"] == 1
    assert _json("hf-trainer", zero1)["deepspeed"]["zero_optimization"]["stage"] == 1
    assert _yaml("axolotl", zero1)["deepspeed"] == "deepspeed_configs/zero1.json"
    values = assigned(export("torchtitan", zero2).files[0].text)
    assert values["parallelism.fsdp_reshard_after_forward"] == "never"
    assert "--use-megatron-fsdp" not in _flags(zero1)
    assert _flags(zero2)["--data-parallel-sharding-strategy"] == ["optim_grads"]


def test_replication_is_no_sharding_anywhere() -> None:
    made = plan("replicated")
    values = assigned(export("torchtitan", made).files[0].text)
    assert values["parallelism.data_parallel_replicate_degree"] == 16
    assert values["parallelism.data_parallel_shard_degree"] == 1
    assert _yaml("accelerate", made)["distributed_type"] == "MULTI_GPU"
    assert "--use-distributed-optimizer" not in _flags(made)
    assert _json("deepspeed", made)["zero_optimization"]["stage"] == 0
    assert "fsdp" not in _json("hf-trainer", made)


def test_one_device_runs_without_a_group() -> None:
    assert _yaml("accelerate", plan("one device"))["distributed_type"] == "NO"


def test_a_hybrid_plan_says_that_its_states_are_shared_by_all() -> None:
    for name in ("torchtitan", "megatron", "accelerate", "axolotl"):
        assert "shards over all 16 data ranks" in _left(export(name, plan("hybrid")))["hsdp"]


def test_tensor_ranks_share_a_batch_in_deepspeed() -> None:
    made = plan("tensor")
    said = _json("deepspeed", made)
    assert said["tensor_parallel"] == {"autotp_size": 2}
    product = said["train_micro_batch_size_per_gpu"] * said["gradient_accumulation_steps"]
    assert said["train_batch_size"] == product * made.made.dp


def test_experts_and_interleaving_have_their_flags() -> None:
    flags = _flags(plan("experts"))
    assert flags["--expert-model-parallel-size"] == ["8"]
    assert flags["--num-experts"] == ["8"]
    assert _flags(plan("pipeline"))["--num-virtual-stages-per-pipeline-rank"] == ["2"]


def test_offload_reaches_every_trainer_that_has_it() -> None:
    both = plan("offloaded")
    zero = _json("deepspeed", both)["zero_optimization"]
    assert zero["offload_param"]["device"] == zero["offload_optimizer"]["device"] == "cpu"
    values = assigned(export("torchtitan", both).files[0].text)
    assert values["training.enable_cpu_offload"] is True
    assert _yaml("accelerate", both)["fsdp_config"]["fsdp_offload_params"] is True
    assert "--optimizer-cpu-offload" in _flags(plan("optimizer offloaded"))


def test_low_precision_recipes_are_the_trainers_own() -> None:
    made = plan("fp8 compiled")
    assert "Float8LinearConverter" in export("torchtitan", made).files[0].text
    assert _flags(job(training__precision="fp8"))["--fp8-format"] == ["hybrid"]
    assert _yaml("accelerate", job(training__precision="fp8"))["mixed_precision"] == "fp8"
    assert _yaml("axolotl", job(training__precision="fp8"))["fp8"] is True
    assert _json("deepspeed", plan("zero2 fp16"))["fp16"] == {"enabled": True, "loss_scale": 0}


def test_adapters_of_axolotl_have_the_runs_rank_and_targets() -> None:
    said = _yaml("axolotl", plan("lora"))
    assert (said["adapter"], said["lora_r"]) == ("lora", 8)
    assert said["lora_target_modules"] == ["q", "v"]
    assert _yaml("axolotl", plan("qlora"))["load_in_4bit"] is True
    assert _yaml("axolotl", plan("qlora"))["attn_implementation"] == "eager"
    assert _yaml("axolotl", plan("dpo"))["rl"] == "dpo"


def test_what_a_run_does_not_say_is_named_and_never_filled_in() -> None:
    for name in TARGETS:
        made = export(name, plan("zero3"))
        left = _left(made)
        assert left, name
        if name not in LAUNCHERS:
            assert "learning rate" in left
            assert "data" in left
    said = {**_yaml("axolotl", plan("zero3")), **_json("hf-trainer", plan("zero3"))}
    assert not {"learning_rate", "base_model", "datasets", "warmup_steps"} & set(said)
    assert "LR_WSD_DECAY_ITERS" in export("megatron", plan("decaying late")).files[0].text
    assert "num_decay_steps" in _left(export("hf-trainer", plan("decaying late")))["schedule"]


def test_remarks_stand_in_the_file_where_it_takes_comments() -> None:
    for name in set(TARGETS) - {"deepspeed", "hf-trainer"}:
        made = export(name, plan("zero3"))
        for each in made.left:
            assert f"# {each.what}: {each.says}" in made.files[0].text


def test_a_plan_of_other_software_says_so() -> None:
    mixed = job(training__stack="megatron", training__loss="eager")
    assert "is of Megatron" in _left(export("axolotl", mixed))["software"]
    assert "software" not in _left(export("megatron", plan("zero1")))


@pytest.mark.parametrize(
    ("name", "changes", "field", "able"),
    [
        ("deepspeed", {"training__precision": "fp8"}, "training.precision", "megatron"),
        ("deepspeed", {"training__layout": {"pp": 2}}, "training.layout.pp", "torchtitan"),
        ("torchtitan", {"training__precision": "fp16"}, "training.precision", "deepspeed"),
        ("torchtitan", {"training__task": "qlora"}, "training.task", "axolotl"),
        ("megatron", {"training__task": "lora"}, "training.task", "hf-trainer"),
        ("megatron", {"training__optimizer": "lion"}, "training.optimizer", "axolotl"),
        ("hf-trainer", {"training__layout": {"tp": 2}}, "training.layout.tp", "accelerate"),
        ("hf-trainer", {"training__recompute": "selective"}, "training.recompute", "torchtitan"),
        ("axolotl", {"training__compile": "regional"}, "training.compile", "torchtitan"),
        ("accelerate", {"training__layout": {"pp": 2}}, "training.layout.pp", "megatron"),
    ],
)
def test_what_a_config_cannot_hold_is_refused_with_who_can(
    name: str, changes: dict[str, object], field: str, able: str
) -> None:
    with pytest.raises(PlannerError) as refused:
        export(name, job(**changes))
    assert refused.value.field == field
    assert able in refused.value.remedy
    assert name not in refused.value.remedy.partition("export to")[2]


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("deepspeed", {"training__layout": {"tp": 2, "sharding": "zero3"}}, "ZeRO up to 2"),
        ("torchtitan", {"training__layout": {"cp": 2, "sharding": "none"}}, "context ranks"),
        ("accelerate", {"training__layout": {"tp": 2, "sharding": "none"}}, "sharded weights"),
        ("megatron", {"training__layout": {"pp": 3}, "hardware__count": 12}, "32 layers"),
        ("skypilot", {"hardware__sku": "tpu-v5p"}, "export to slurm"),
        ("deepspeed", {"hardware__sku": "tpu-v5p"}, "NVIDIA and AMD"),
    ],
)
def test_a_combination_that_a_trainer_does_not_run_is_refused(
    name: str, changes: dict[str, object], says: str
) -> None:
    whole = {"training__global_batch": 240} if changes.get("hardware__count") == 12 else {}
    layout = {} if "training__layout" in changes else {"training__layout": {"sharding": "zero3"}}
    made = job(
        **{"hardware__interconnect": 400, "hardware__per_node": 4, **whole, **layout, **changes}
    )
    with pytest.raises(PlannerError, match=says):
        export(name, made)


def test_a_model_that_a_target_does_not_describe_is_left_to_the_user() -> None:
    other = job("gemma-2-9b", training__layout={"sharding": "zero3"})
    made = export("torchtitan", other)
    assert "ships no configuration" in _left(made)["model"]
    assert [file.name for file in made.files] == ["gemma_2_9b_torchtitan.py"]
    script = export("megatron", job("gemma-2-9b", training__layout={"tp": 2}))
    assert "MODEL_ARGS_FILE" in _left(script)["environment"]
    assert "--swiglu" not in script.files[0].text


def test_an_unknown_target_is_refused_with_the_nearest() -> None:
    assert target("HF_Trainer").name == "hf-trainer"
    with pytest.raises(PlannerError, match="did you mean megatron"):
        target("megatrn")


def test_a_search_for_a_target_leaves_out_what_it_cannot_hold() -> None:
    limits, says = narrowed("deepspeed", restrictions(forbid=["tp=8"]))
    assert limits.bounds["pp"] == (None, 1)
    assert not limits.allows("precision", "fp8")
    assert not limits.allows("tp", 8)
    assert "pp=1" in says
    with pytest.raises(PlannerError, match="export to torchtitan, megatron"):
        narrowed("deepspeed", restrictions(fix=["pp=2"]))
    with pytest.raises(PlannerError, match="the deepspeed config cannot hold it"):
        narrowed("deepspeed", restrictions(fix=["precision=fp8"]))


def test_a_search_leaves_out_combinations_that_the_target_does_not_run() -> None:
    whole = space(run_of(), restrictions(fix=["count"]))
    for each in runnable("deepspeed", whole).groups:
        columns = each.table.columns
        assert not np.any((columns["tp"] > 1) & (columns["sharding"] == SHARDINGS.index("zero3")))
    assert runnable("slurm", whole) is whole


def test_a_search_with_nothing_left_gives_the_refusal() -> None:
    sharded = space(run_of(training__offload="optimizer"), restrictions(fix=["sharding=none"]))
    with pytest.raises(PlannerError, match="the deepspeed config cannot hold it"):
        runnable("deepspeed", sharded)


def test_launchers_leave_every_search_as_it_is() -> None:
    for name in LAUNCHERS:
        assert narrowed(name, restrictions()) == (restrictions(), [])


def test_every_word_that_a_search_tries_has_a_trainer() -> None:
    for axis, words in (
        ("sharding", HOLDS["slurm"].sharding),
        ("precision", ("fp32", "fp16", "bf16", "fp8", "nvfp4")),
        ("recompute", HOLDS["slurm"].recompute),
    ):
        for word in words:
            assert holders(axis, word) or word == "layer-split"
