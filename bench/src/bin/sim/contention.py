"""The jitter experiment of 2015, full jitter, in plain Python: a heap of events, a row with a version.

Written twice, the same step for step: as one loop with tables, and with an object for each client and message, as a
simulation in Python usually is. Prints: mean writes, mean milliseconds to the last client's end, processor's seconds for
each run. Arguments: loop or objects, clients, runs.
"""

import heapq
import random
import sys
import time

READ, REPLY, WRITE, WRITTEN = range(4)


def hop():
    return abs(random.normalvariate(10, 2))


def run(clients):
    heap = []
    pushed = 0
    attempts = [0] * clients
    version = 0
    writes = 0
    now = 0.0
    for client in range(clients):
        pushed += 1
        heapq.heappush(heap, (hop(), pushed, READ, client, 0))
    while heap:
        now, _, kind, client, carried = heapq.heappop(heap)
        pushed += 1
        if kind == READ:
            heapq.heappush(heap, (now + hop(), pushed, REPLY, client, version))
        elif kind == REPLY:
            heapq.heappush(heap, (now + hop(), pushed, WRITE, client, carried))
        elif kind == WRITE:
            writes += 1
            well = carried == version
            version += well
            heapq.heappush(heap, (now + hop(), pushed, WRITTEN, client, well))
        elif not carried:
            attempts[client] += 1
            ceiling = min(2000, 5 * 2 ** attempts[client])
            wait = random.uniform(0, ceiling)
            heapq.heappush(heap, (now + hop() + wait, pushed, READ, client, 0))
    return writes, now


class Message:
    """What is on its way: when it comes, what is called then, and with what."""

    def __init__(self, at, to, **carried):
        self.at = at
        self.to = to
        self.carried = carried

    def __lt__(self, other):
        return self.at < other.at


class Row:
    def __init__(self):
        self.version = 0
        self.writes = 0

    def read(self, now, client):
        return Message(now + hop(), client.has_read, version=self.version)

    def write(self, now, client, version):
        self.writes += 1
        well = version == self.version
        if well:
            self.version += 1
        return Message(now + hop(), client.has_written, well=well)


class Jitter:
    def __init__(self, base, cap):
        self.base = base
        self.cap = cap

    def wait(self, attempt):
        return random.uniform(0, min(self.cap, self.base * 2**attempt))


class Client:
    def __init__(self, row, jitter):
        self.row = row
        self.jitter = jitter
        self.attempt = 0

    def start(self, now):
        return Message(now + hop(), self.row.read, client=self)

    def has_read(self, now, version):
        return Message(now + hop(), self.row.write, client=self, version=version)

    def has_written(self, now, well):
        if well:
            return None
        self.attempt += 1
        return self.start(now + self.jitter.wait(self.attempt))


def run_objects(clients):
    row = Row()
    jitter = Jitter(5, 2000)
    heap = []
    now = 0.0
    for _ in range(clients):
        heapq.heappush(heap, Client(row, jitter).start(0.0))
    while heap:
        message = heapq.heappop(heap)
        now = message.at
        following = message.to(now, **message.carried)
        if following is not None:
            heapq.heappush(heap, following)
    return row.writes, now


def main():
    simulate = {"loop": run, "objects": run_objects}[sys.argv[1]]
    clients, runs = int(sys.argv[2]), int(sys.argv[3])
    random.seed(1)
    began = time.process_time()
    done = [simulate(clients) for _ in range(runs)]
    spent = time.process_time() - began
    print(sum(w for w, _ in done) / runs, sum(t for _, t in done) / runs, spent / runs)


main()
