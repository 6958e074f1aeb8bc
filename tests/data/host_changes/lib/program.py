import deeper

print(deeper)
