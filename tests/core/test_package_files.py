"""What was measured on one small GPT is not shown beside another."""

import json

import pytest

from course_utils.data import package_files
from course_utils.data.package_files import (
    MODEL,
    SHA256,
    PackagedFileError,
    read_measured,
    read_packaged,
)


@pytest.mark.parametrize("name", ["lora_runs.json", "depth_runs.json"])
def test_measured_on_the_packaged_model(name):
    found = read_measured(name)
    assert found == json.loads(read_packaged(name))
    assert found["measured_on"] == SHA256[MODEL]


@pytest.mark.parametrize("name", ["lora_runs.json", "depth_runs.json"])
def test_another_model_is_refused(name, monkeypatch):
    monkeypatch.setitem(package_files.SHA256, MODEL, "0" * 64)
    with pytest.raises(PackagedFileError, match=f"{name} must be measured on .* 0{{16}}"):
        read_measured(name)
