"""Nothing public is missing from the catalogue, and the page of it says what its entries say."""

from __future__ import annotations

import inspect

import pytest
from catalogue.entry import ALL, NO_GRADIENT, Entry
from catalogue.running import entries, jobs
from catalogue.table import PAGE, Row, page, rows
from catalogue.workloads import workload

import photic as ph

# Public names that compute nothing of tensors, or nothing that one case could show.
EXCEPTIONS = {
    "compile": "gives a program; every compiled case is a test of it",
    "export_onnx": "writes a file of a graph; tested with the ONNX frontend",
    "load": "reads a program from a folder; tested with the store of programs",
    "nn": "a folder of modules and optimisers; tested with them",
    "dim": "a symbolic size; every entry with sizes is a test of it",
    "input": "a name for what is given; every entry reads one",
    "state": "kept between calls; tested with the states of programs",
    "result_type": "gives a dtype; tested with the rules of promotion",
    "grad": "gives the gradients of other functions; tested with autograd",
    "value_and_grad": "a function to one that gives gradients too; tested with autograd",
    "vjp": "a function to its pullback; tested with autograd",
    "jvp": "a function to its derivative in a direction; tested with autograd",
    "checkpoint": "a function to one computed again; tested with autograd",
}
TIMED = [one for one in entries() if one.speed is not None]
BY_NAME = {name: getattr(ph, name) for name in ph._HOME}


def functions() -> dict[str, object]:
    """Public names that are functions and no exception; classes are left to their own tests."""
    return {
        name: one
        for name, one in BY_NAME.items()
        if not inspect.isclass(one) and name not in EXCEPTIONS
    }


def test_every_public_function_has_an_entry() -> None:
    covered = [BY_NAME.get(one.function) for one in entries()]
    missing = [name for name, one in functions().items() if one not in covered]
    assert not missing, f"{len(missing)} without an entry: {', '.join(sorted(missing))}"


def test_every_exception_is_a_public_name_with_a_reason() -> None:
    assert set(EXCEPTIONS) <= set(BY_NAME)
    assert all(len(reason.split()) >= 3 for reason in EXCEPTIONS.values())


def test_every_entry_is_of_a_public_function() -> None:
    strangers = sorted({one.name for one in entries() if one.function not in BY_NAME})
    assert not strangers


def test_no_two_entries_have_one_name() -> None:
    names = [one.name for one in entries()]
    assert not sorted({name for name in names if names.count(name) > 1})


@pytest.mark.parametrize("row", rows(entries()), ids=lambda row: row.function)
def test_a_function_states_its_dtypes_accuracy_and_gradient(row: Row) -> None:
    assert row.cases and row.accuracy
    assert row.dtypes and set(row.dtypes) <= set(ALL)
    assert len(row.gradient.split()) > 1 or row.gradient == "smooth"
    for names in (row.onnx, row.aten):
        assert all(name and " " not in name for name in names)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_an_entry_has_cases_of_each_of_its_dtypes(entry: Entry) -> None:
    for dtype in entry.dtypes:
        assert jobs(entry, dtype), dtype
    reason = entry.gradient.removeprefix(NO_GRADIENT)
    assert reason.strip()


def test_the_page_has_the_table_that_the_entries_make() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, entries()), "run: python bench/catalogue.py --table"


@pytest.mark.peers
@pytest.mark.parametrize("entry", TIMED, ids=lambda entry: entry.name)
def test_a_workload_has_the_shapes_of_torchs(entry: Entry) -> None:
    assert entry.speed is not None
    workload(entry, entry.speed).require_alike()
