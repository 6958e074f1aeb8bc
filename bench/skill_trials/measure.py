"""Measure the yield of a reaction once."""

import socket
import sys

if len(sys.argv) != 4:
    sys.exit("TEMPERATURE CONCENTRATION TIME")
with socket.socket(socket.AF_UNIX) as link:
    link.connect("../measure.sock")
    link.sendall((" ".join(sys.argv[1:]) + "\n").encode())
    print(link.makefile().readline().strip())
