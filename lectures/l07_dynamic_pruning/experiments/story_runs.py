"""Story GPTs with dense layers and with experts, trained longer than the lecture waits.

tools/scripts/train_story_experts.py trains them with the lecture's own cells.
"""

import json
from typing import Any

from course_utils.data.package_files import read_packaged

STORY_RUNS_FILE = "story_expert_runs.json"
STORY_STEPS = (100, 300, 1000)


def story_runs() -> list[dict[str, Any]]:
    """Return each run's rate and seed, and its losses on new stories after ``STORY_STEPS``."""
    return json.loads(read_packaged(STORY_RUNS_FILE))
