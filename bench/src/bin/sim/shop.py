"""The same world in SimPy: a process for each call, a Resource for the workers.

Prints: calls answered arrivals events waited cpu-seconds. What stands in shop.rs comes as arguments.
"""

import random
import sys
import time

import simpy


class Policy:
    """The policy of one process, written plainly."""

    def __init__(self, o):
        self.o = o
        self.tokens = 0.0
        self.filled_at = 0.0
        self.failures = 0
        self.first_failure = 0.0
        self.open_until = 0.0

    def failed(self, now, nth):
        if self.failures == 0:
            self.first_failure = now
        self.failures += 1
        if self.failures >= self.o["breaker_failures"] and now - self.first_failure >= self.o["breaker_span"]:
            self.open_until = now + self.o["breaker_open"]
            self.failures = 0
        if nth > self.o["retries"] or now < self.open_until:
            return None
        earned = self.o["budget_per_second"] * (now - self.filled_at)
        self.tokens = min(self.tokens + earned, self.o["budget_most"])
        self.filled_at = now
        if self.tokens < 1.0:
            return None
        self.tokens -= 1.0
        return random.random() * min(self.o["cap"], self.o["base"] * 2 ** (nth - 1))


def call(env, policy, workers, o, counts):
    due = env.now
    nth = 0
    while env.now >= policy.open_until:
        nth += 1
        if nth == 1:
            policy.tokens += o["budget_ratio"]
        yield env.timeout(o["hop"])
        counts["arrivals"] += 1
        counts["events"] += 1
        with workers.request() as free:
            yield free
            yield env.timeout(random.expovariate(1.0 / o["service_mean"]))
        counts["events"] += 1
        well = random.random() >= o["fail"]
        yield env.timeout(o["hop"])
        counts["events"] += 1
        if well:
            policy.failures = 0
            counts["answered"] += 1
            break
        wait = policy.failed(env.now, nth)
        if wait is None:
            break
        yield env.timeout(wait)
        counts["events"] += 1
    counts["calls"] += 1
    counts["waited"] += env.now - due


def arrivals(env, policies, workers, o, counts):
    clients = int(o["clients_each"]) * len(policies)
    while True:
        gap = random.expovariate(o["per_second"])
        if env.now + gap >= o["seconds"]:
            return
        yield env.timeout(gap)
        counts["events"] += 1
        client = random.randrange(clients)
        policy = policies[client // int(o["clients_each"])]
        env.process(call(env, policy, workers, o, counts))


def main():
    o = {}
    for argument in sys.argv[1:]:
        name, value = argument.split("=")
        o[name] = float(value)
    random.seed(1)
    began = time.process_time()
    env = simpy.Environment()
    workers = simpy.Resource(env, capacity=int(o["workers"]))
    policies = [Policy(o) for _ in range(int(o["processes"]))]
    counts = {"calls": 0, "answered": 0, "arrivals": 0, "events": 0, "waited": 0.0}
    env.process(arrivals(env, policies, workers, o, counts))
    env.run()
    spent = time.process_time() - began
    print(*counts.values(), spent)


main()
