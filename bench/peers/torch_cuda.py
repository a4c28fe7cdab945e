"""PyTorch's side of cuda_bench: the same nets, batches and optimizer, host data in, medians. One JSON object per line.

Each net is trained by the plain loop and by a CUDA graph of the whole step (data copied in first), some also with loss and
gradient by `torch.compile`, with products in float32 and TF32: `us` for a step that is waited for, `us_in_flight` for one of
many that are not. Data lies in pinned memory, Adam is fused.
"""
import json
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("not measured: no PyTorch")
    sys.exit(0)
if not torch.cuda.is_available():
    print("not measured: no CUDA device")
    sys.exit(0)


def net_of(widths, activation):
    layers = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers.append(torch.nn.Linear(a, b))
        if i + 2 < len(widths):
            layers.append(activation())
    return torch.nn.Sequential(*layers).cuda()


def median_us(step, rounds):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def in_flight_us(step, rounds):
    def flight():
        for _ in range(rounds // 2):
            step()

    return median_us(flight, 5) / (rounds // 2)


def measure(name, widths, batch, rounds, regression=False, compiled=False):
    y = torch.rand(batch, 1) if regression else torch.randint(0, widths[-1], (batch,))
    in_both_numerics(name, lambda: net_of(widths, torch.nn.Tanh if regression else torch.nn.ReLU),
                     torch.nn.MSELoss() if regression else torch.nn.CrossEntropyLoss(), torch.rand(batch, widths[0]), y, rounds,
                     compiled)


def convolutional():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(16 * 7 * 7, 10)).cuda()


def measure_convolutions(batch, rounds):
    in_both_numerics("convolutions of 8 and 16 planes", convolutional, torch.nn.CrossEntropyLoss(),
                     torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,)), rounds)


def in_both_numerics(name, make_net, loss_of, x, y, rounds, compiled=False):
    x, y = x.pin_memory(), y.pin_memory()
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        result = {"what": "torch step", "net": name, "numerics": "tf32" if tf32 else "float32", "batch": len(x)}
        result |= measure_one(make_net(), loss_of, x, y, rounds)
        if compiled:
            torch.compiler.reset()
            times = measure_one(make_net(), loss_of, x, y, rounds, torch.compile)
            result |= {key.replace("us", "us_compiled", 1): value for key, value in times.items()}
        print(json.dumps(result), flush=True)


def measure_one(net, loss_of, x, y, rounds, made_fast=lambda f: f):
    dx, dy = x.cuda(), y.cuda()
    adam = torch.optim.Adam(net.parameters(), capturable=True, fused=True)
    loss = made_fast(lambda: loss_of(net(dx), dy))

    def work():
        adam.zero_grad(set_to_none=False)
        loss().backward()
        adam.step()

    def copy_in():
        dx.copy_(x, non_blocking=True)
        dy.copy_(y, non_blocking=True)

    def plain():
        copy_in()
        work()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(5):
            plain()
    torch.cuda.synchronize()
    result = {"us": round(median_us(plain, rounds), 2), "us_in_flight": round(in_flight_us(plain, rounds), 2)}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def replay():
        copy_in()
        graph.replay()

    result["us_as_cuda_graph"] = round(median_us(replay, rounds), 2)
    result["us_as_cuda_graph_in_flight"] = round(in_flight_us(replay, rounds), 2)
    return result


measure("2-16-16-1", [2, 16, 16, 1], 32, 200, regression=True)
measure("64-128-10", [64, 128, 10], 64, 200, compiled=True)
measure("784-256-128-10", [784, 256, 128, 10], 128, 200, compiled=True)
measure("1024-1024-1024-10", [1024, 1024, 1024, 10], 256, 100)
measure("4096-4096-4096-10", [4096, 4096, 4096, 10], 4096, 20, compiled=True)
measure_convolutions(64, 100)
measure_convolutions(4096, 20)
for exponent in range(8, 21, 4):
    measure("64-64-64-64-64-10", [64, 64, 64, 64, 64, 10], 2**exponent, 20, compiled=exponent == 20)
