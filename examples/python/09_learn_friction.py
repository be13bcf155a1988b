"""Learning a friction law through the simulator

Blocks slide to rest on a surface whose friction falls with speed. A small network learns the law
from 100 recorded motions (noise of 0.1 mm). It gives the coefficient at 13 speeds, and the model
interpolates and steps with Coulomb's law. torch takes the gradient back through all steps.
"""

import matplotlib.pyplot as plt
import numpy as np
import perp
import perp.torch
import torch

MODEL = """model slide
param m = 1 "kg", g = 9.81 "m/s^2", d = 0.25 "m/s", k[13] = 0.4
state x = 0 "m", v = 1 "m/s"
var f "N", mu
der(x) = v
m*der(v) = f
mu = sum(i in 1..13, k[i]*max(0, 1 - abs(abs(v) - (i - 1)*d)/d))
-mu*m*g <= f <= mu*m*g perp v
simulate to 1 step 1e-2 method backward-euler
"""
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
speeds = 0.25 * torch.arange(13)
run = perp.torch.Run(perp.Model(MODEL), steps=100, step=1e-2, params=[f"k[{i + 1}]" for i in range(13)])

law = 0.3 + 0.25 * torch.exp(-speeds / 0.6)
start = torch.stack([torch.zeros(100), 3 * torch.rand(100)], dim=1)
recorded = run(start, law) + 1e-4 * torch.randn(100, 100, 2)

network = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1), torch.nn.Softplus())
optimizer = torch.optim.LBFGS(network.parameters(), max_iter=80, line_search_fn="strong_wolfe", tolerance_change=1e-12)
losses = []


def loss():
    optimizer.zero_grad()
    off = (run(start, network(speeds[:, None])[:, 0]) - recorded).square().mean()
    off.backward()
    losses.append(off.item())
    return off


optimizer.step(loss)
learned = network(speeds[:, None])[:, 0].detach()
worst = float((learned / law - 1).abs().max())
print(f"{len(losses)} gradients, worst error of the law {worst:.2%}")
fig, (laws, fall) = plt.subplots(1, 2, figsize=(9, 3.6))
laws.plot(speeds, law, label="truth")
laws.plot(speeds, learned, "o", label="learned")
laws.set(xlabel="speed [m/s]", ylabel="mu")
laws.legend()
fall.semilogy(np.array(losses))
fall.set(xlabel="gradients", ylabel="mean square error")
plt.show()
