def change(text):
    return text + "!"
