"""A small GPT-2 with random weights and its tokens, for the explorers of lecture 06."""

import torch

from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.tokens import train_bpe

TOKENIZER = train_bpe("the cat sat on the mat, and the rat sat on the cat " * 3, 273)


def random_model():
    """Weights larger than at the start of a training: no two scores are near each other."""
    torch.manual_seed(6)
    made = GPT2(GPT2Config(TOKENIZER.vocab_size, 41, 15, 3, 5, feedforward_width=23)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def scores_of(model, ids):
    """What the model itself says of the token behind these."""
    with torch.no_grad():
        return model(torch.tensor([ids]))[0, -1].numpy()
