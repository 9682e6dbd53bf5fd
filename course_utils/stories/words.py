"""The words of the stories, by kind. A story uses each of the first kinds at most once."""

# ruff: noqa: SIM905 - words are easier to read than quotes

FILLERS = {
    "he": "Tom Ben Sam Max Leo Tim Paul Jack Adam Finn Hugo Nick".split(),
    "she": "Ann Eva Mia Zoe Lucy Emma Rosa Jane Ruth Nora Ida Kate".split(),
    "place": "kitchen garden park hall attic barn shop tower tent library cabin cellar".split(),
    "colour": "red blue green yellow white black brown pink".split(),
    "noun": (
        "ball hat book key coin doll kite lamp cup drum spoon bell rope map ring apple egg orange "
        "umbrella shell candle pencil scarf whistle"
    ).split(),
    "container": "box basket drawer bag sack chest pot bucket".split(),
}
AT_RANDOM = {
    "verb": "sang laughed waited smiled yawned coughed danced slept".split(),
    "size": ["", "small", "big", "old", "new"],
}
