"""What is wrong with what a command was given; they follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class FileLine(PhoticError):
    code = "P501"
    template = "{path}, line {line}: {problem}"


class FileKind(PhoticError):
    code = "P502"
    template = "{path} is {given}; photic compile reads {expected}"
    hint = "{help}"


class ConversationFile(PhoticError):
    code = "P503"
    template = "{path} holds no conversation: {problem}"
    hint = "/save writes such files"


class CommandUnknown(PhoticError):
    code = "P504"
    template = "there is no command {given}; there are {expected}"
    hint = "a message that begins with a slash is written with two"


class CommandIncomplete(PhoticError):
    code = "P505"
    template = "{given} needs {expected}"


class PeerMissing(PhoticError):
    code = "P506"
    template = "{name} cannot be run: {problem}"
    hint = "{python} -m pip install {package}"


class PeerFailed(PhoticError):
    code = "P507"
    template = "{name} ended: {problem}"
    hint = "leave --vs out to measure photic alone"


class TargetUnusable(PhoticError):
    code = "P509"
    template = "--target {given} is not usable here; the targets are:\n{known}"


class ArrayFile(PhoticError):
    code = "P508"
    template = "{path} is no array in a .npy file: {problem}"
