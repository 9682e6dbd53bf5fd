"""What lecture 06 claims of fresh and trained models; `make claims LECTURE=06` runs its cells."""

from course_utils.teaching.claims import Claim, Setting

FRESH = ("setup", "norm", "feedforward", "collect", "block-class", "gpt", "untrained", "cause")
LARGE = {"std=0.02)  # PyTorch's own start is 1": "std=1)"}
WIDTHS = tuple(Setting(f"width {width}", arguments={"WIDTH": width}) for width in (32, 128))


def read_fresh(cell):
    """The first loss, and how often the word just read is the first choice."""
    return {
        "loss over C/√2": cell.untrained / (cell.WIDTH / 2**0.5),
        "repeats": cell.same,
        "loss": cell.untrained,
    }


def read_cured(cell):
    """The first loss from small numbers, and from large ones."""
    loss = cell.loss_of(cell.my_gpt, cell.read, cell.answers)
    return {"loss": loss.detach(), "large": cell.untrained}


CLAIMS = (
    Claim(
        name="repeats_untrained",
        sentence="An untrained GPT of two blocks whose output is its embedding, from N(0, 1), used "
        "again, has a loss within 20 % of C/√2 nats on short stories. At 9 of 10 places or more "
        "its first choice is the word that it has just read.",
        cells=FRESH,
        read=read_fresh,
        holds=lambda n: abs(n["loss over C/√2"] - 1) < 0.2 and n["repeats"] >= 0.9,
        effect="loss",
        unit="nats",
        control=Setting(
            "an output matrix of its own",
            edits={
                "self.norm(x) @ self.tokens.weight.T": (
                    "self.norm(x) @ nn.Embedding(*self.tokens.weight.shape).weight.T"
                )
            },
        ),
        quick={"WIDTH": 32},
        settings=WIDTHS,
    ),
    Claim(
        name="starts_as_a_die",
        sentence="The same GPT, with both embeddings from N(0, 0.02²), has a first loss within 0.2 "
        "nats of ln 180.",
        cells=(*FRESH, "cure"),
        read=read_cured,
        holds=lambda n: abs(n["loss"] - 5.193) < 0.2,
        effect="loss",
        rival="large",
        unit="nats",
        control=Setting("from N(0, 1)", edits=LARGE),
        quick={"WIDTH": 32},
        settings=WIDTHS,
    ),
)
