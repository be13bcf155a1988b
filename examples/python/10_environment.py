"""An environment of Gymnasium

A cart slides on a rough floor and is to stop at 0, with a push between -10 and 10 N. The
environment is a simulation object. A search finds the two gains of a controller that stops it.
"""

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import perp

CART = """param m = 1 "kg", mu = 0.2, g = 9.81 "m/s^2"
input F "N"
state x = 0 "m", v = 0 "m/s"
var f "N"
der(x) = v
m*der(v) = F + f
-mu*m*g <= f <= mu*m*g perp v
"""


class Cart(gymnasium.Env):
    action_space = gymnasium.spaces.Box(-10, 10, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    sim = perp.Model(CART).start(step=0.02, method="backward-euler", F=0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.sim.reset()
        self.sim.state.update(zip("xv", self.np_random.uniform(-2, 2, 2)))
        return np.array([*self.sim.state.values()]), {}

    def step(self, action):
        self.sim.step(F=float(np.clip(action[0], -10, 10)))
        seen = np.array([*self.sim.state.values()])
        return seen, -seen @ [[1, 0], [0, 0.1]] @ seen, False, self.sim.t > 4, {}


def episode(env, gains, seed):
    rows, over = [(*env.reset(seed=seed)[0], 0.0)], False
    while not over:
        observation, reward, _, over, _ = env.step([-gains @ rows[-1][:2]])
        rows.append((*observation, reward))
    return np.array(rows)


env, rng = Cart(), np.random.default_rng(0)
scores, gains = [-np.inf], np.zeros(2)
for _ in range(60):
    trial = gains + rng.normal(size=2) * [8, 3]
    score = np.mean([episode(env, trial, seed)[:, 2].sum() for seed in range(5)])
    gains = trial if score > scores[-1] else gains
    scores.append(max(score, scores[-1]))
learning, motion = plt.subplots(1, 2, figsize=(9, 3.6))[1]
learning.plot(scores)
learning.set(xlabel="trial", ylabel="best score", title=f"gains {gains.round(1)}")
motion.plot(0.02 * np.arange(201), np.transpose([episode(env, gains, seed)[:201, 0] for seed in range(5, 15)]))
motion.set(xlabel="t [s]", ylabel="x [m]")
plt.show()
