"""What a run does not say, or a format cannot hold: the remarks that several targets share."""

from __future__ import annotations

from planner.stacks import stack
from planner.trainers.export import Left
from planner.trainers.job import Job


def learning_rate(without: str) -> Left:
    """`without` says what the trainer does when nobody sets it."""
    return Left(
        what="learning rate",
        says=f"a run does not say it, nor warm-up, weight decay and clipping: {without}",
    )


def data_and_weights(job: Job, where: str) -> list[Left]:
    """The dataset, and the weights that fine-tuning starts from. `where` names the keys."""
    found = [Left(what="data", says=f"the dataset and its tokenizer: {where}")]
    if job.run.data.lengths is not None:
        packing = job.run.data.packing or "packed"
        found.append(Left(what="packing", says=f"the plan takes rows as {packing}: set it up so"))
    if job.made.task != "pretrain":
        says = f"the weights that {job.made.task} starts from, of {job.model.name}"
        found.append(Left(what="weights", says=says))
    return found


def other_software(job: Job, *names: str) -> list[Left]:
    """Where the plan rests on other software than the target runs, the usual one first."""
    if any(job.stack.name.startswith(stack(name).name) for name in names):
        return []
    says = (
        f"the plan is of {job.stack.title}: time and memory differ here; "
        f"set training.stack: {names[0]} to plan what will run"
    )
    return [Left(what="software", says=says)]


def tf32(job: Job) -> list[Left]:
    if job.made.precision != "tf32":
        return []
    says = "call torch.set_float32_matmul_precision('high') before training: no key says it"
    return [Left(what="tf32", says=says)]


def adapters(job: Job, keys: str) -> list[Left]:
    """Adapters that live in the training script. `keys` names what takes them."""
    if not job.adapters:
        return []
    lora = job.run.training.lora
    targets = ", ".join(lora.targets)
    whole = f", trained whole: {', '.join(lora.trainable)}" if lora.trainable else ""
    four_bit = "; base weights in 4 bit (BitsAndBytesConfig)" if job.made.task == "qlora" else ""
    says = f"rank {lora.rank} on {targets}{whole}{four_bit}: {keys}"
    return [Left(what="adapters", says=says)]


def hsdp(job: Job) -> list[Left]:
    """A hybrid plan whose states are shared by all ranks copies nothing."""
    if job.made.sharding != "hsdp" or job.replicas > 1:
        return []
    says = (
        f"the plan shards over all {job.shard_degree} data ranks, so there is one copy; "
        "shard over fewer and memory rises above the plan's"
    )
    return [Left(what="hsdp", says=says)]


def recompute_in_script(job: Job, how: str) -> list[Left]:
    if job.made.recompute == "none":
        return []
    return [Left(what="recompute", says=f"{job.made.recompute}: {how}")]


def attention_in_script(job: Job) -> list[Left]:
    """The attention kernel, where the model is loaded by a script of transformers."""
    says = f"from_pretrained(attn_implementation={attention_name(job)!r})"
    return [Left(what="attention", says=says)]


def attention_name(job: Job) -> str:
    """The plan's kernel as transformers and axolotl name it."""
    if job.made.attention == "sdpa-math":
        return "eager"
    return {"fa2": "flash_attention_2", "fa3": "flash_attention_3"}.get(job.flash, "sdpa")


def loss_in_script(job: Job) -> list[Left]:
    if job.made.loss == "eager":
        return []
    return [Left(what="loss", says=f"{job.made.loss} cross-entropy: in the training script")]


def reduce_dtype(job: Job, usual: str) -> list[Left]:
    """A stated format of the gradient reduction that the config cannot set."""
    stated = job.made.reduce_dtype
    if not stated or stated == usual:
        return []
    says = f"{stated}, and this config reduces in {usual}: times and bytes differ"
    return [Left(what="reduce_dtype", says=says)]
