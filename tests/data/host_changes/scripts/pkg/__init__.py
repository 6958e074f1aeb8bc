START = "s"
