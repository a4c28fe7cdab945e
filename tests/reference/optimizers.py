"""Makes optimizers.hpp: what PyTorch's optimizers do in 50 steps of three objectives, in double.

Usage: python3 tests/reference/optimizers.py > tests/reference/optimizers.hpp     (PyTorch 1.13 made the one that is here)
"""
import math
import struct

import torch

STEPS = (1, 2, 3, 10, 25, 50)


def single(x):
    """A number as the rules write it: 1e-3f."""
    return struct.unpack("f", struct.pack("f", x))[0]


def gradient(objective, p):
    """A bowl of uneven curvature, a curved valley, a plateau with a kink: as in optimizers_test.cpp."""
    result = []
    for i in range(len(p)):
        ahead = p[i + 1] - p[i] * p[i] if i + 1 < len(p) else 0.0
        behind = p[i] - p[i - 1] * p[i - 1] if i > 0 else 0.0
        if objective == 0:
            result.append((1.0 + 10.0 * i) * p[i])
        elif objective == 1:
            result.append(-4 * p[i] * ahead - 2 * (1 - p[i]) * (i + 1 < len(p)) + 2 * behind)
        else:
            result.append(math.tanh(5 * p[i]) * (1 if p[i] > -0.5 else 0.1))
    return result


def trajectory(make, objective):
    parameter = torch.nn.Parameter(torch.tensor([1.3, -0.8, 0.4, -1.1], dtype=torch.float64))
    optimizer = make([parameter])
    seen = []
    for step in range(1, 51):
        parameter.grad = torch.tensor(gradient(objective, parameter.tolist()), dtype=torch.float64)
        optimizer.step()
        if step in STEPS:
            seen.append(parameter.tolist())
    return seen


S, O = single, torch.optim
RULES = {  # without NAdam: PyTorch before 2.0 takes one factor of its running product twice
    "Sgd{.learning_rate = 0.02f}": lambda p: O.SGD(p, S(0.02)),
    "Sgd{.learning_rate = 0.02f, .momentum = 0.7f, .weight_decay = 0.05f, .dampening = 0.3f}":
        lambda p: O.SGD(p, S(0.02), momentum=S(0.7), weight_decay=S(0.05), dampening=S(0.3)),
    "Sgd{.learning_rate = 0.02f, .momentum = 0.7f, .nesterov = true}":
        lambda p: O.SGD(p, S(0.02), momentum=S(0.7), nesterov=True),
    "Adam{.learning_rate = 0.02f, .weight_decay = 0.05f}":
        lambda p: O.Adam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    "AdamW{.learning_rate = 0.02f, .weight_decay = 0.05f}":
        lambda p: O.AdamW(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    "AmsGrad{.learning_rate = 0.02f, .weight_decay = 0.05f}":
        lambda p: O.Adam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05), amsgrad=True),
    "RAdam{.learning_rate = 0.02f, .weight_decay = 0.05f}":
        lambda p: O.RAdam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    "Adamax{.learning_rate = 0.02f, .weight_decay = 0.05f}":
        lambda p: O.Adamax(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    "RmsProp{.learning_rate = 0.02f, .momentum = 0.7f, .weight_decay = 0.05f}":
        lambda p: O.RMSprop(p, S(0.02), S(0.99), S(1e-8), S(0.05), S(0.7)),
    "RmsProp{.learning_rate = 0.02f, .centered = true}":
        lambda p: O.RMSprop(p, S(0.02), S(0.99), S(1e-8), centered=True),
    "Adagrad{.learning_rate = 0.02f, .learning_rate_decay = 0.1f, .weight_decay = 0.05f}":
        lambda p: O.Adagrad(p, S(0.02), S(0.1), S(0.05), eps=S(1e-10)),
    "Adadelta{.learning_rate = 0.5f, .weight_decay = 0.05f}":
        lambda p: O.Adadelta(p, S(0.5), S(0.9), S(1e-6), S(0.05)),
}

print("#pragma once")
print("// Made by optimizers.py with PyTorch %s: parameters after some of 50 steps, for each of three objectives." % torch.__version__)
print("#include <gradual/gradual.hpp>\n")
print("namespace reference {\n")
print("inline constexpr int steps[] = {%s};\n" % ", ".join(map(str, STEPS)))
print("struct Trajectory {\n  double parameters[3][%d][4];\n};\n" % len(STEPS))
print("/// Calls f(rule, trajectory) for each.\ntemplate <class F>\nvoid for_each_trajectory(F f) {\n  using namespace gradual;")
for rule, make in RULES.items():
    lines = []
    for objective in range(3):
        rows = ["{" + ", ".join(repr(x) for x in row) + "}" for row in trajectory(make, objective)]
        lines.append("      {" + ",\n       ".join(rows) + "}")
    print("  f(%s,\n    Trajectory{{\n%s}});" % (rule, ",\n".join(lines)))
print("}\n\n}  // namespace reference")
