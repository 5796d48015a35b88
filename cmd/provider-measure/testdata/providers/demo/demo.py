"""Answers the product of two integers that standard input has on one line."""

import sys

first, second = sys.stdin.readline().split()
print(int(first) * int(second))
