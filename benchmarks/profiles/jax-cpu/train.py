"""VGG16 (Fluid, FC 512) in JAX: one compiled program a step, NHWC, Adam, synthetic CIFAR-10 shapes. Reads BENCHD_*,
prints records.

With exchange AllReduce each replica is a process of jax.distributed with one device, and reads JAX_COORDINATOR_ADDRESS,
JAX_NUM_PROCESSES and JAX_PROCESS_ID too. Gradients are the mean of all (pmean over gloo); each has batch statistics of its own, as in
Fluid."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402


def initial(jax, seed):
    """Parameters and running statistics, as lists in the order of the layers."""
    jnp, random = jax.numpy, jax.random
    keys = iter(random.split(random.key(seed), 32))
    params, running, channels = [], [], 3

    def norm(width):
        running.append((jnp.zeros(width), jnp.ones(width)))
        return [jnp.ones(width), jnp.zeros(width)]

    def dense(n_in, n_out):
        bound = benchd.xavier_bound(n_in, n_out)
        return [random.uniform(next(keys), (n_in, n_out), minval=-bound, maxval=bound), jnp.zeros(n_out)]

    for stack in benchd.STACKS:
        for width, _ in stack:
            weight = benchd.conv_std(channels) * random.normal(next(keys), (3, 3, channels, width))
            params.append([weight, jnp.zeros(width), *norm(width)])
            channels = width
    params.append([*dense(channels, benchd.WIDTH), *norm(benchd.WIDTH)])
    params += [dense(benchd.WIDTH, benchd.WIDTH), dense(benchd.WIDTH, benchd.CLASSES)]
    return params, running


def forward(jax, params, running, x, key):
    """Logits, and the new running statistics. x (N, H, W, 3)"""
    jnp, lax = jax.numpy, jax.lax
    keys = iter(jax.random.split(key, 16))
    new_running = []

    def drop(y, rate):
        return jnp.where(jax.random.bernoulli(next(keys), 1 - rate, y.shape), y / (1 - rate), 0) if rate else y

    def norm_relu(y, gamma, beta):
        axes = tuple(range(y.ndim - 1))
        mean, variance = jnp.mean(y, axes), jnp.var(y, axes)
        old = running[len(new_running)]
        new_running.append(tuple(benchd.BN_KEEP * a + (1 - benchd.BN_KEEP) * b for a, b in zip(old, (mean, variance))))
        return jax.nn.relu((y - mean) * (gamma * lax.rsqrt(variance + benchd.BN_EPSILON)) + beta)

    y, layers = x, iter(params)
    for stack in benchd.STACKS:
        for _, rate in stack:
            weight, bias, gamma, beta = next(layers)
            y = lax.conv_general_dilated(y, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
            y = drop(norm_relu(y, gamma, beta), rate)
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    y = drop(y.reshape(y.shape[0], -1), benchd.HEAD_DROPOUT)
    weight, bias, gamma, beta = next(layers)
    y = drop(norm_relu(y @ weight + bias, gamma, beta), benchd.HEAD_DROPOUT)
    for weight, bias in layers:
        y = y @ weight + bias
    return y, new_running


def adam(jax, state, gradients, params):
    """state: (step, m, v)"""
    step, m, v = state
    step = step + 1
    b1, b2 = benchd.BETA1, benchd.BETA2
    m = jax.tree.map(lambda old, g: b1 * old + (1 - b1) * g, m, gradients)
    v = jax.tree.map(lambda old, g: b2 * old + (1 - b2) * g * g, v, gradients)
    rate = benchd.LEARNING_RATE * jax.numpy.sqrt(1 - b2 ** step) / (1 - b1 ** step)
    params = jax.tree.map(lambda p, a, b: p - rate * a / (jax.numpy.sqrt(b) + benchd.ADAM_EPSILON), params, m, v)
    return (step, m, v), params


def make_step(jax, mesh, seed):
    jnp, P = jax.numpy, jax.sharding.PartitionSpec

    def step(params, running, state, x, labels):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), jax.lax.axis_index("data")), state[0])

        def loss_of(params):
            logits, new = forward(jax, params, running, x, key)
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)), new

        (loss, new), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        state, params = adam(jax, state, jax.lax.pmean(gradients, "data"), params)
        return params, new, state, jax.lax.pmean(loss, "data")

    sharded = jax.shard_map(step, mesh=mesh, in_specs=(P(), P(), P(), P("data"), P("data")), out_specs=P(),
                            check_vma=False)
    return jax.jit(sharded, donate_argnums=(0, 1, 2))


def prepare(jax, replica):
    """A compiled step and the batches, as train() takes them. All processes compile before one of them exchanges."""
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def begin():
        params, running = initial(jax, replica.seed)
        zeros, more = (jax.tree.map(jax.numpy.zeros_like, params) for _ in range(2))
        return params, running, (jax.numpy.zeros((), "int32"), zeros, more)

    held = list(jax.jit(begin, out_shardings=everywhere)())
    batches = [tuple(jax.make_array_from_process_local_data(sharding, part)
                     for part in (x.transpose(0, 2, 3, 1), labels.astype("int32"))) for x, labels in replica.batches()]
    compiled = make_step(jax, mesh, replica.seed).lower(*held, *batches[0]).compile()
    if jax.process_count() > 1:
        # Gloo waits 30 s for the others in an exchange; compiling may differ by more. jax has no public barrier that
        # is not one of gloo's own; its version is pinned.
        jax._src.distributed.global_state.client.wait_at_barrier("compiled", 600_000)

    def step(x, labels):
        *held[:], loss = compiled(*held, x, labels)
        return loss

    return step, batches


def main():
    replica = benchd.Replica(exchanges=("None", "AllReduce"), roles=("trainer", "worker"))
    replica.limit_threads()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["NPROC"] = str(replica.threads)  # the size of XLA's pool of threads
    if replica.threads == 1:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    import jax
    is_parallel = replica.exchange == "AllReduce" and replica.training > 1
    if is_parallel:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], int(os.environ["JAX_NUM_PROCESSES"]),
                                   int(os.environ["JAX_PROCESS_ID"]))
    replica.start("JAX", jax.__version__, layout="NHWC")
    replica.train(*prepare(jax, replica))
    if is_parallel:
        jax.distributed.shutdown()


if __name__ == "__main__":
    main()
