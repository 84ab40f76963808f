"""The jitter experiment of 2015, full jitter, in plain Python: a heap of events, a row with a version.

Prints: mean writes, mean milliseconds to the last client's end, processor's seconds for each run. Arguments: clients, runs.
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


def main():
    clients, runs = int(sys.argv[1]), int(sys.argv[2])
    random.seed(1)
    began = time.process_time()
    done = [run(clients) for _ in range(runs)]
    spent = time.process_time() - began
    print(sum(w for w, _ in done) / runs, sum(t for _, t in done) / runs, spent / runs)


main()
