"""What lecture 06 claims of fresh and trained models; `make claims LECTURE=06` runs its cells."""

from course_utils.stories import read
from course_utils.teaching.claims import RATES, Claim, Setting

MODEL = ("setup", "norm", "feedforward", "collect", "block-class", "gpt", "untrained", "cause")
