"""One training at four moments: weights that the lecture's own cells left, ready to write.

tools/scripts/train_learning_moments.py runs those cells.
"""

import safetensors.torch
import torch

from course_utils.data.package_files import read_packaged
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.stories import ALL_WORDS

MOMENTS_FILE = "learning_moments.safetensors"
MOMENTS = ("0", "50", "250", "500")  # steps
SIZES = GPT2Config(len(ALL_WORDS), max_positions=64, width=64, num_layers=2, num_heads=4)


def load_moments() -> dict[str, GPT2]:
    """Return the model at each of its moments. The file has 16 bits per number, the models 32."""
    saved = safetensors.torch.load(read_packaged(MOMENTS_FILE))
    models = {}
    for moment in MOMENTS:
        with torch.device("meta"):  # no weights are drawn
            models[moment] = GPT2(SIZES)
        start = f"{moment}/"
        weights = {
            name.removeprefix(start): weight.float()
            for name, weight in saved.items()
            if name.startswith(start)
        }
        models[moment].load_state_dict(weights, assign=True)
        models[moment].eval()
    return models
