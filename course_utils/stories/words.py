"""The words of the stories, by kind. A story uses each of the first kinds at most once."""

# ruff: noqa: SIM905 - words are easier to read than quotes

FILLERS = {
    "he": (
        "Tom Ben Sam Max Leo Tim Paul Jack Adam Finn Hugo Nick Dan Joe Luke Mark Oscar Peter Ravi "
        "Will"
    ).split(),
    "she": (
        "Ann Eva Mia Zoe Lucy Emma Rosa Jane Ruth Nora Ida Kate Amy Clara Dora Ella Greta Iris "
        "Lena Meg"
    ).split(),
    "place": (
        "kitchen garden park hall attic barn shop tower tent library cabin cellar office school "
        "stable yard"
    ).split(),
    "colour": "red blue green yellow white black brown pink grey purple".split(),
    "noun": (
        "ball hat book key coin doll kite lamp cup drum spoon bell rope map ring apple egg orange "
        "umbrella shell candle pencil scarf whistle plate brush stone ticket letter glove pear "
        "mask flag comb ladder mirror bottle cushion torch saw feather puzzle violin watch coat "
        "blanket hammer clock"
    ).split(),
    "container": "box basket drawer bag sack chest pot bucket cupboard suitcase barrel jar".split(),
}
AT_RANDOM = {
    "verb": (
        "sang laughed waited smiled yawned coughed danced slept sneezed hummed whispered clapped"
    ).split(),
    "size": ["", "small", "big", "old", "new"],
}
# What the sentences are made of beside these, and the end of a line: each story is a line.
OTHERS = (
    "\n",
    *". , ? a an the in of out to for but it It is was he He him she She her has Nobody".split(),
    *"What Where Who colour asked carried found gave kept left put took went".split(),
)
ALL_WORDS = (
    *OTHERS,
    *(word for words in (*FILLERS.values(), *AT_RANDOM.values()) for word in words if word),
)
