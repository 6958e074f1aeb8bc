"""What agents read and write: definitions as prompts, requests as JSON, typed failures, and secrets taken out."""
