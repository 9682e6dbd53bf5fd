"""Random queries and keys as lecture 01's pictures count them, and their scores by definition."""

import math
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from lectures.l01_scaling.explorers.score_width import (
    ALL_EQUAL,
    COINS,
    QUERIES,
    UNIFORM,
    ScoreWidth,
)
from tests.explorers.support_node import run_module

SAMPLES, KEYS, WIDEST = 2000, 64, 512
COUNT = """
import { writeFileSync } from "node:fs";
const { name, seed, queries, rows, width, module, path } = told;
const { maker, rowWords, seedOf } = await import(module);
const [make, pair, size] = [maker(name), [0, 0], rows * width];
const seeds = queries ? queries.map(seedOf) : [seed];
const all = new Float64Array(seeds.length * 2 * size);
seeds.forEach((each, i) => rowWords(each, rows).forEach((word, row) => {
  for (let at = 0; at < width; at += 1) {
    make(pair, word, at);
    [all[2 * i * size + row * width + at], all[(2 * i + 1) * size + row * width + at]] = pair;
  }
}));
writeFileSync(path, all);
console.log(null);
"""


def coordinates(name, rows, width, *, seed=0, queries=None):
    """a and c, (rows, width) each; of several queries, where they are numbered, a pair for each."""
    module = ScoreWidth.view_path().with_name("coordinates.js").as_uri()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "all"))
        told = {"name": name, "seed": seed, "queries": queries, "rows": rows, "width": width}
        run_module(COUNT, {**told, "module": module, "path": path})
        found = np.fromfile(path).reshape(-1, 2, rows, width)
    return found if queries else found[0]


@cache
def of_all(name):
    """a and c of the 2,000 pairs."""
    return coordinates(name, SAMPLES, WIDEST)


@cache
def of_queries(name):
    return coordinates(name, KEYS, WIDEST, queries=list(range(1, QUERIES + 1)))


def of_query(name, query):
    """a of one query and c of its keys."""
    a, c = of_queries(name)[query - 1]
    return a[:1], c


def dot_products(pair, width, correlation=0.0, variance=1.0, mean=0.0):
    """q k of each coordinate, (rows, width): the scores are its sums."""
    a, c = (each[:, :width] for each in pair)
    b = correlation * a + math.sqrt(1 - correlation**2) * c
    return (mean + math.sqrt(variance) * a) * (mean + math.sqrt(variance) * b)


def law(name, width, correlation=0.0, variance=1.0, mean=0.0):
    """Mean and standard deviation of a score: one product's, integrated exactly."""
    nodes, weights = nodes_and_weights(name)
    pairs = np.meshgrid(nodes, nodes, indexing="ij")
    product = dot_products(pairs, len(nodes), correlation, variance, mean)
    probability = np.outer(weights, weights)
    one = (probability * product).sum()
    square = (probability * (product - one) ** 2).sum()
    # Products that are all equal add up instead of averaging out.
    return width * one, math.sqrt(square) * (width if name == ALL_EQUAL else math.sqrt(width))


def nodes_and_weights(name):
    """A rule that integrates polynomials of degree 8 exactly over this distribution."""
    if name == COINS:
        nodes, weights = np.array([-1.0, 1.0]), np.ones(2)
    elif name == UNIFORM:
        nodes, weights = np.polynomial.legendre.leggauss(6)
        nodes = nodes * math.sqrt(3)
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    return nodes, weights / weights.sum()
