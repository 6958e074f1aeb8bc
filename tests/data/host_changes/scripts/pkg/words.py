from . import START

WORD = START + "w"
