"""JAX's side of cuda_bench: the same nets, batches and optimizer, host data in, medians. One JSON object per line.

The whole step is one compiled function whose parameters and state are donated, with products in float32 and TF32: `us` for a
step that is waited for, `us_in_flight` for one of many that are not.
"""
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
except ImportError:
    print("not measured: no JAX with Optax")
    sys.exit(0)
if jax.default_backend() != "gpu":
    print("not measured: JAX finds no CUDA device")
    sys.exit(0)


def parameters_of(widths, random):
    return [(random.uniform(-1, 1, (a, b)).astype(np.float32) / np.sqrt(a), np.zeros(b, np.float32))
            for a, b in zip(widths, widths[1:])]


def loss_of(parameters, x, y, regression):
    activation = jnp.tanh if regression else jax.nn.relu
    for weight, bias in parameters[:-1]:
        x = activation(x @ weight + bias)
    weight, bias = parameters[-1]
    x = x @ weight + bias
    if regression:
        return jnp.mean((x - y) ** 2)
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(x, y))


def measure(name, widths, batch, rounds, regression=False):
    random = np.random.default_rng(1)
    x = random.random((batch, widths[0]), np.float32)
    y = random.random((batch, 1), np.float32) if regression else random.integers(0, widths[-1], batch, np.int32)
    adam = optax.adam(1e-3)

    def step(parameters, state, x, y):
        gradient = jax.grad(loss_of)(parameters, x, y, regression)
        updates, state = adam.update(gradient, state)
        return optax.apply_updates(parameters, updates), state

    for numerics, precision in (("float32", "float32"), ("tf32", "tensorfloat32")):
        with jax.default_matmul_precision(precision):
            compiled = jax.jit(step, donate_argnums=(0, 1))
            now = [jax.device_put(parameters_of(widths, random))]
            now.append(adam.init(now[0]))

            def run():
                now[:] = compiled(*now, x, y)

            def median_us(many, rounds):
                times = []
                for _ in range(rounds):
                    begin = time.perf_counter()
                    for _ in range(many):
                        run()
                    jax.block_until_ready(now)
                    times.append(time.perf_counter() - begin)
                return round(1e6 * statistics.median(times) / many, 2)

            for _ in range(5):
                run()
            jax.block_until_ready(now)
            print(json.dumps({"what": "jax step", "net": name, "numerics": numerics, "batch": batch,
                              "us": median_us(1, rounds), "us_in_flight": median_us(rounds // 2, 5)}), flush=True)


measure("2-16-16-1", [2, 16, 16, 1], 32, 200, regression=True)
measure("64-128-10", [64, 128, 10], 64, 200)
measure("784-256-128-10", [784, 256, 128, 10], 128, 200)
measure("1024-1024-1024-10", [1024, 1024, 1024, 10], 256, 100)
measure("4096-4096-4096-10", [4096, 4096, 4096, 10], 4096, 20)
for exponent in range(8, 21, 4):
    measure("64-64-64-64-64-10", [64, 64, 64, 64, 64, 10], 2**exponent, 20)
