"""Signing and amending: the statement that a person signs, its journal, renewal, and known signers."""
