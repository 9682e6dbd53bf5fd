"""What the lecture claims of trained or random runs; `make claims` runs it on fresh seeds."""

from course_utils.teaching.claims import Claim

CLAIMS: tuple[Claim, ...] = ()
