"""Makes optimizers.hpp: what PyTorch's optimizers do in 50 steps of three objectives, in double.

Usage: python3 tests/reference/optimizers.py > tests/reference/optimizers.hpp     (PyTorch 2.15 made the one that is here)
Numbers have 14 decimals: they are compared to 1e-12.
"""
import math
import struct

import torch

STEPS = 50
START = (1.3, -0.8, 0.4, -1.1, 0.7, -0.3)


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


def trajectory(make, shape, objective):
    start = torch.tensor(START[:math.prod(shape)], dtype=torch.float64).reshape(shape)
    # PyTorch's matrices are [out, in]
    parameter = torch.nn.Parameter(start.mT.contiguous() if len(shape) == 2 else start)
    rows = lambda: parameter.detach().mT.flatten().tolist() if len(shape) == 2 else parameter.tolist()
    optimizer = make([parameter])
    seen = []
    for _ in range(STEPS):
        slope = torch.tensor(gradient(objective, rows()), dtype=torch.float64).reshape(shape)
        parameter.grad = slope.mT.contiguous() if len(shape) == 2 else slope
        optimizer.step(lambda: torch.zeros(()))
        seen.append(rows())
    return seen


S, O = single, torch.optim
torch.set_default_dtype(torch.float64)  # also of NAdam's running product
torch.bfloat16 = torch.float64  # in which Muon makes its steps orthogonal
VECTOR, WIDE, TALL = (4,), (2, 3), (3, 2)
RULES = {
    ("Sgd{.learning_rate = 0.02f}", VECTOR): lambda p: O.SGD(p, S(0.02)),
    ("Sgd{.learning_rate = 0.02f, .momentum = 0.7f, .weight_decay = 0.05f, .dampening = 0.3f}", VECTOR):
        lambda p: O.SGD(p, S(0.02), momentum=S(0.7), weight_decay=S(0.05), dampening=S(0.3)),
    ("Sgd{.learning_rate = 0.02f, .momentum = 0.7f, .nesterov = true}", VECTOR):
        lambda p: O.SGD(p, S(0.02), momentum=S(0.7), nesterov=True),
    ("Adam{.learning_rate = 0.02f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.Adam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    ("AdamW{.learning_rate = 0.02f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.AdamW(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    ("AmsGrad{.learning_rate = 0.02f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.Adam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05), amsgrad=True),
    ("RAdam{.learning_rate = 0.02f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.RAdam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    ("Adamax{.learning_rate = 0.02f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.Adamax(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05)),
    ("RmsProp{.learning_rate = 0.02f, .momentum = 0.7f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.RMSprop(p, S(0.02), S(0.99), S(1e-8), S(0.05), S(0.7)),
    ("RmsProp{.learning_rate = 0.02f, .centered = true}", VECTOR):
        lambda p: O.RMSprop(p, S(0.02), S(0.99), S(1e-8), centered=True),
    ("Adagrad{.learning_rate = 0.02f, .learning_rate_decay = 0.1f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.Adagrad(p, S(0.02), S(0.1), S(0.05), eps=S(1e-10)),
    ("Adadelta{.learning_rate = 0.5f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.Adadelta(p, S(0.5), S(0.9), S(1e-6), S(0.05)),
    ("NAdam{.learning_rate = 0.02f, .weight_decay = 0.05f}", VECTOR):
        lambda p: O.NAdam(p, S(0.02), (S(0.9), S(0.999)), S(1e-8), S(0.05), S(4e-3)),
}
for shape in (VECTOR, WIDE, TALL):
    RULES["Adafactor{.learning_rate = 0.02f}", shape] = \
        lambda p: O.Adafactor(p, S(0.02), S(-0.8), (S(1.1920929e-7), S(1e-3)), 1.0)
    RULES["Adafactor{.learning_rate = 0.3f, .clipping = 1.5f, .weight_decay = 0.05f}", shape] = \
        lambda p: O.Adafactor(p, S(0.3), S(-0.8), (S(1.1920929e-7), S(1e-3)), 1.5, S(0.05))
for pairs in (1, 3, 5):  # at larger rates rounding grows in these objectives, in the one with a kink beyond any bound
    RULES["LbfgsOf<%d>{.learning_rate = 0.02f}" % pairs, VECTOR] = lambda p, pairs=pairs: O.LBFGS(
        p, S(0.02), max_iter=1, tolerance_grad=0, tolerance_change=0, history_size=pairs)
for shape in (WIDE, TALL):
    RULES["Muon{.weight_decay = 0.1f}", shape] = lambda p: O.Muon(p, S(0.02), S(0.1), S(0.95))
    RULES["Muon{.momentum = 0.7f, .nesterov = false}", shape] = lambda p: O.Muon(p, S(0.02), 0.0, S(0.7), False)

print("#pragma once")
print("// Made by optimizers.py with PyTorch %s: parameters after each of %d steps, for each of three objectives."
      % (torch.__version__, STEPS))
print("#include <gradual/gradual.hpp>\n")
print("namespace reference {\n")
print("inline constexpr int steps = %d;" % STEPS)
print("inline constexpr double start[] = {%s};\n" % ", ".join(map(repr, START)))
print("/// Of one parameter of this shape, row-major.")
print("struct Trajectory {\n  gradual::Shape shape;\n  const double* parameters;")
print("  const double* after(int step, int objective) const {")
print("    return parameters + (objective * steps + step - 1) * shape.unit();\n  }\n};\n")
print("/// Calls f(rule, trajectory) for each.\ntemplate <class F>\nvoid for_each_trajectory(F f) {\n  using namespace gradual;")
for (rule, shape), make in RULES.items():
    print("  {\n    static constexpr double parameters[] = {")
    for objective in range(3):
        for row in trajectory(make, shape, objective):
            print(", ".join("%.15g" % round(x, 14) for x in row) + ",")
    print("    };\n    f(%s, Trajectory{{%s}, parameters});\n  }" % (rule, ", ".join(map(str, shape))))
print("}\n\n}  // namespace reference")
