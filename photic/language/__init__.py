"""Language models: architectures, tokenizers, chat templates, sampling, streams of text."""
