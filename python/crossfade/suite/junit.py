"""Result of a suite as JUnit XML, which CI systems read."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from crossfade.errors import visible
from crossfade.suite.baseline import Pair
from crossfade.suite.running import Row, SuiteResult


def junit(result: SuiteResult, pairs: Sequence[Pair] = ()) -> str:
    """JUnit XML: a test suite for each tested control or program, a test case for each target.

    A target that is too close to call is ``skipped``, so that it neither fails nor passes. Comparisons with a
    baseline are a test suite of their own, in which a worse target fails.
    """
    root = ElementTree.Element("testsuites", name=f"crossfade suite {result.suite.name}")
    for tested in result.tested:
        rows = [row for row in result.rows if row.tested == tested]
        skips = result.skipped
        at = _suite(root, f"{result.suite.name}.{tested}", len(rows) + len(skips))
        for row in rows:
            case = _case(at, f"{result.suite.name}.{tested}.{row.case}", row.target)
            _outcome(case, row.verdict == "fail", row.verdict == "too close to call", _words(row))
            _text(case, "system-out", "\n".join([row.why, row.clause, *_again(row)]))
        for name, why in skips:
            case = _case(at, f"{result.suite.name}.{tested}.{name}", "not run")
            ElementTree.SubElement(case, "skipped", message=visible(why))
        _count(at)
    if pairs:
        at = _suite(root, f"{result.suite.name}.baseline", len(pairs))
        for pair in pairs:
            case = _case(at, f"{result.suite.name}.baseline.{pair.case}", f"{pair.tested}: {pair.target}")
            _outcome(case, pair.verdict == "worse", pair.verdict == "too close to call", pair.words)
        _count(at)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _words(row: Row) -> str:
    return f"{row.metric} is {row.found}, not {row.target.removeprefix(row.metric).strip()}" + (
        f" ({row.note})" if row.note else ""
    )


def _again(row: Row) -> list[str]:
    lines = [f"run {row.worst_run} is the worst"] if row.worst_run is not None else []
    lines += [f"replayed by: {row.replay}"] if row.replay else []
    return lines + [f"{name}: {file}" for name, file in row.files.items()]


def _suite(root: ElementTree.Element, name: str, tests: int) -> ElementTree.Element:
    return ElementTree.SubElement(root, "testsuite", name=visible(name), tests=str(tests))


def _case(at: ElementTree.Element, place: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(at, "testcase", classname=visible(place), name=visible(name))


def _outcome(case: ElementTree.Element, fails: bool, is_close: bool, words: str) -> None:
    if fails:
        ElementTree.SubElement(case, "failure", message=visible(words))
    elif is_close:
        ElementTree.SubElement(case, "skipped", message=visible(f"too close to call: {words}"))


def _text(case: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(case, name).text = visible(text)


def _count(at: ElementTree.Element) -> None:
    at.set("failures", str(len(at.findall("testcase/failure"))))
    at.set("skipped", str(len(at.findall("testcase/skipped"))))
