"""What is wrong with an ONNX file, or not supported; classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class OnnxMissing(PhoticError):
    code = "P425"
    template = "reading ONNX files needs the package {package}"
    hint = "pip install 'photic[onnx]'"


class OnnxCorrupt(PhoticError):
    code = "P426"
    template = "{path}: {where}: {problem}"
    hint = "the file is damaged or not an ONNX model; export or download it again"


class OnnxUnsupported(PhoticError):
    code = "P412"
    template = "{where}: operator {op} of {domain} in version {version} is not supported"
    hint = "supported: {expected}"


class OnnxAttribute(PhoticError):
    code = "P413"
    template = "{where}: {op} (version {version}): {attribute} is {given}; supported: {expected}"


class OnnxInput(PhoticError):
    code = "P414"
    template = "{where}: {op} (version {version}): {problem}"


class OnnxType(PhoticError):
    code = "P415"
    template = "{where}: elements of type {given} are not supported; supported: {expected}"


class OnnxNode(PhoticError):
    code = "P416"
    template = "{where}: {op} of {domain} in version {version}, given {given}: {problem}"


class OnnxFeed(PhoticError):
    code = "P417"
    template = "the model has no {kind} {name!r}; it has {expected}"


class OnnxSegments(PhoticError):
    code = "P418"
    template = "the model cannot be one program: {where} needs the numbers in {value}"
    hint = (
        "photic.frontends.onnx.Session runs it in parts and reads them back in between; what an "
        "input decides, load(path, constants={{name: array}}) settles"
    )


class OnnxExport(PhoticError):
    code = "P419"
    template = "the ONNX model cannot be written: {problem}"


class OnnxData(PhoticError):
    code = "P424"
    template = "{path}: {where}: its data lie in {location!r}, and there is no such file"
    hint = "put {location} into the folder {folder}: it was exported together with the model"
