"""Conditions under which a command fails, for CI: ``lower``, ``difference<-2%``, ``margin<1e5``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crossfade.errors import ScenarioError, shortened

_LIMIT = re.compile(r"\s*(difference|margin)\s*(<=|>=|<|>)\s*([-+.\deE]+)\s*(%?)\s*")
_CHOICE = re.compile(r"\s*choice\s*(!?=)\s*(.+?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Gate:
    """One condition under which a comparison fails: a verdict, a limit of a number, or a choice."""

    text: str
    verdict: str | None = None
    sign: str = ""
    limit: float = math.nan
    is_share: bool = False
    choice: str | None = None

    @classmethod
    def parse(cls, text: str, number: str, verdicts: Sequence[str]) -> Gate:
        """Read a condition: one of ``verdicts``, a limit of ``number`` (``difference`` or ``margin``), or
        with ``margin`` a choice.
        """
        word = " ".join(text.split())
        if word in verdicts:
            return cls(word, verdict=word)
        if (found := _LIMIT.fullmatch(text)) and found[1] == number:
            try:
                limit = float(found[3])
            except ValueError:
                limit = math.nan
            if math.isfinite(limit):
                return cls(word, sign=found[2], limit=limit, is_share=found[4] == "%")
        if number == "margin" and (found := _CHOICE.fullmatch(text)):
            return cls(word, sign=found[1], choice=found[2])
        forms = [*verdicts, f'"{number}<-2%"', f'"{number}>1e5"', *['"choice!=VALUE"'] * (number == "margin")]
        raise ScenarioError(f"fail if {shortened(text)}: must be one of {', '.join(forms)}")

    def fails(self, verdict: str, number: float | None, reference: float | None, choice: str = "") -> bool:
        """True if a verdict, a number or a choice meets the condition; ``reference`` is the value that a
        limit in % refers to.
        """
        if self.verdict is not None:
            return verdict == self.verdict
        if self.choice is not None:
            return (choice == self.choice) is (self.sign == "=")
        if number is None or math.isnan(number):
            return False
        limit = self.limit
        if self.is_share:
            if reference is None or math.isnan(reference):
                return False
            limit = self.limit / 100.0 * abs(reference)
        return {
            "<": number < limit,
            "<=": number <= limit,
            ">": number > limit,
            ">=": number >= limit,
        }[self.sign]


def worst_run(values: Mapping[int, float], lowest_is_best: bool) -> tuple[int, float] | None:
    """Run with the worst difference, and that difference; None if there are fewer than two runs.

    ``values`` are differences by number of the run; with ``lowest_is_best`` the highest one is worst.
    """
    if len(values) < 2:
        return None
    run = (max if lowest_is_best else min)(values, key=lambda run: values[run])
    return run, values[run]
