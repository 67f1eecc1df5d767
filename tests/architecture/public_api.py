"""The public names of every package and how they are called, as text.

`python tests/architecture/public_api.py` writes it to `api/`, one file per package. What a
change of those files removes or renames needs a new major version.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any, Generic, Protocol

API = Path(__file__).parent / "api"
PACKAGES = sorted(path.parent.name for path in API.parents[2].glob("packages/*/pyproject.toml"))

# Besides the `__all__` of the package itself: for authors of adapters and backends.
MODULES = {
    "agentstate-reducer": {"integration": None},
    "agentstate-documents": {
        "model": ["MAX_KEY_LENGTH", "FIRST_SORT", "AFTER_LAST_SORT"],
        "flow_reduction": ["register_reducer"],
        "persistence": ["DocumentFlowPersistence"],
        "saver": ["DocumentSaver"],
        "tables.checks": ["check_limit", "check_put"],
        "tables.cosmosdb": ["CosmosDBTable", "AioCosmosDBTable"],
        "tables.dynamodb": ["DynamoDBTable", "AioDynamoDBTable"],
        "tables.firestore": ["FirestoreTable", "AsyncFirestoreTable"],
        "tables.sql": ["SQLTable"],
        "tables.threaded": ["Threaded"],
        "testing.flow_contract": ["FlowContract"],
        "testing.saver_contract": ["SaverContract"],
        "testing.table_contract": ["TableContract"],
    },
}


def described(package: str) -> str:
    """Every public name of a package, a line for each way to use it."""
    root = package.replace("-", "_")
    names = {root: importlib.import_module(root).__all__}
    for name, some in MODULES.get(package, {}).items():
        names[f"{root}.{name}"] = some or importlib.import_module(f"{root}.{name}").__all__
    blocks = [
        "\n".join(_entry(f"{module}.{name}", getattr(importlib.import_module(module), name)))
        for module, some in names.items()
        for name in sorted(some)
    ]
    return "\n\n".join(blocks) + "\n"


def _entry(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"class {name}{_signature(value.__init__) if _is_ours(value.__init__) else '()'}"
        yield from (f"    is a {base.__name__}" for base in value.__bases__ if _says(base))
        yield from (f"    field {told}" for told in _fields(value))
        yield from (f"    {member}" for member in sorted(_members(value)))
    elif inspect.isroutine(value):
        yield f"{name}{_signature(value)}"
    else:
        yield f"{name}: {repr(value) if _is_plain(value) else type(value).__name__}"


def _says(base: type) -> bool:
    return base not in (object, Generic, Protocol) and not base.__name__.startswith("_")


def _fields(kind: Any) -> Iterator[str]:
    """Those of a pydantic model, which its constructor may take as options."""
    for name, field in getattr(kind, "model_fields", {}).items():
        yield name if field.is_required() else f"{name} = {field.default!r}"


def _members(kind: type) -> Iterator[str]:
    """The public methods and properties that classes of ours give it; a contract's tests apart."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if name.startswith(("_", "test_")):
            continue
        if inspect.isfunction(function) and _is_ours(function):
            prefix = "async " if inspect.iscoroutinefunction(function) else ""
            yield f"{prefix}{name}" + ("" if isinstance(value, property) else _signature(function))


def _is_ours(function: Any) -> bool:
    module = getattr(function, "__module__", "")
    return module.partition(".")[0].replace("_", "-") in PACKAGES


def _signature(function: Any) -> str:
    """The parameters as they are written, the same in every version of Python."""
    signature = inspect.signature(function)
    shown, star = [], False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            shown.append("*")
        star |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        shown.append(_parameter(parameter))
    returned = signature.return_annotation
    arrow = "" if returned is signature.empty else f" -> {_annotation(returned)}"
    return f"({', '.join(shown)}){arrow}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_default(parameter.default)}"
    return text


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(value: Any) -> str:
    return repr(value) if _is_plain(value) else "..."


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, GenericAlias)) or value == ()


if __name__ == "__main__":
    API.mkdir(exist_ok=True)
    for package in PACKAGES:
        (API / f"{package}.txt").write_text(described(package))
