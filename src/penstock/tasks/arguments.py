"""Arguments on their way in and out: validated against the signature, written as strict JSON, read back."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired

from penstock.model.errors import InvalidArguments, InvalidOption, InvalidValue, Problem, ValueTooLarge
from penstock.model.redaction import redacted
from penstock.model.values import dumps, dumps_scalars, loads
from penstock.tasks.problems import MOST, field_names, problems_of, too_many
from penstock.tasks.shapes import fingerprint, is_plain, is_scalar, json_form
from penstock.tasks.signature import Signature

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


LONGEST_DEFAULT = 500  # bytes of JSON that are told of one


class _Codec(NamedTuple):
    """What the hot path needs of pydantic, looked up once."""

    from_python: Callable[[Any], dict[str, Any]]
    from_json: Callable[[str], dict[str, Any]]
    to_json: Callable[[dict[str, Any]], Any]
    write: Callable[[dict[str, Any]], str]
    misfit: type[ValidationError]


class Arguments:
    """The arguments of one task. What pydantic needs is built when the first call is made."""

    def __init__(self, task: str, signature: Signature, limit: int) -> None:
        self._task = task
        self._signature = signature
        self._limit = limit
        self._most = len(signature.names) + MOST  # arguments that are looked at one by one

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The payload as JSON text, and the validated values; InvalidArguments names every misfit."""
        codec = self._codec
        given = self._bind(args, kwargs) if args else kwargs
        if len(given) > self._most:
            raise InvalidArguments(self._task, too_many(given, self._signature.names))
        try:
            values = codec.from_python(given)
        except codec.misfit as error:
            problem = self._misfit(error)
        except Exception as error:  # noqa: BLE001 - a validator or constructor of the user's own types
            problem = self._raised(error)
        else:
            return codec.write(values), values
        # Raised out here, so that an error that quotes values does not travel along.
        raise problem

    def decode(self, text: str) -> dict[str, Any]:
        """The handler's keyword arguments from a stored payload.

        InvalidArguments where it does not fit the signature, InvalidValue where it is not JSON at all.
        """
        codec = self._codec
        try:
            return codec.from_json(text)
        except codec.misfit as error:
            if error.errors(include_input=False)[0]["type"] == "json_invalid":
                raise InvalidValue(f"the stored payload of task {self._task!r} is not JSON") from None
            problem = self._misfit(error)
        except Exception as error:  # noqa: BLE001 - a validator or constructor of the user's own types
            problem = self._raised(error)
        raise problem

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the payload; of types that have none, the names alone."""
        from pydantic.errors import PydanticInvalidForJsonSchema  # noqa: PLC0415

        try:
            return self._adapter.json_schema(mode="validation")
        except PydanticInvalidForJsonSchema:
            return {"type": "object", "properties": {name: {} for name in self._signature.names}}

    def described(self, hidden: Container[str] = ()) -> dict[str, Any]:
        """The JSON schema with the defaults of the signature, but for those of these arguments."""
        told = {
            name: shape if name in hidden else {**shape, **self._default(name)}
            for name, shape in self.schema.get("properties", {}).items()
        }
        return {**self.schema, "properties": told} if told else self.schema

    def _default(self, name: str) -> dict[str, Any]:
        """What stands for an argument that is left out, where it is JSON, short, and looks like no secret."""
        from pydantic_core import PydanticSerializationError, to_jsonable_python  # noqa: PLC0415

        if name not in self._signature.defaults:
            return {}
        try:
            text = dumps(to_jsonable_python(self._signature.defaults[name]), LONGEST_DEFAULT)
        except (PydanticSerializationError, InvalidValue):
            return {}
        said = f'"{name}": {text}'
        return {"default": loads(text)} if redacted(said) == said else {}

    @cached_property
    def fingerprint(self) -> str:
        """Names the shape of the payload: it changes when an older payload might not fit any more."""
        return fingerprint(self.schema, self._signature.types)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        positional = self._signature.positional
        if len(args) > len(positional):
            told = f"{len(args)} values were given by position; the task takes at most {len(positional)}"
            raise InvalidArguments(self._task, [Problem("arguments", told)])
        given = dict(zip(positional, args, strict=False))
        if twice := given.keys() & kwargs.keys():
            told = "is given by position and by name; give it once"
            raise InvalidArguments(self._task, [Problem(name, told) for name in sorted(twice)])
        return given | kwargs

    def _plain(self, values: dict[str, Any]) -> str:
        try:
            return dumps(values, self._limit, "arguments")
        except ValueTooLarge:
            raise
        except InvalidValue:
            # An Any parameter may hold what only the serialiser can write.
            return self._serialised(values)

    def _serialised(self, values: dict[str, Any]) -> str:
        text = dumps(self._codec.to_json(values), self._limit, "arguments")
        self._check_round_trip(text, values)
        return text

    def _check_round_trip(self, text: str, values: dict[str, Any]) -> None:
        codec = self._codec
        try:
            back = codec.from_json(text)
        except Exception:  # noqa: BLE001 - as in `decode`
            back = {}
        told = "does not come back equal from JSON; give it a type that does, or pass a reference"
        if changed := [name for name in values if name not in back or back[name] != values[name]]:
            raise InvalidArguments(self._task, [Problem(name, told) for name in changed])

    def _raised(self, error: Exception) -> InvalidArguments:
        told = f"cannot be read: their type raised {type(error).__name__}"
        return InvalidArguments(self._task, [Problem("arguments", told)])

    def _misfit(self, error: ValidationError) -> InvalidArguments:
        return InvalidArguments(
            self._task, problems_of(error, self._signature.names, field_names(self.schema))
        )

    @cached_property
    def _codec(self) -> _Codec:
        from pydantic import ValidationError  # noqa: PLC0415

        form = json_form(self._adapter)
        validate = self._adapter.validator.validate_python
        return _Codec(validate, form.load, form.dump, self._writer(), ValidationError)

    def _writer(self) -> Callable[[dict[str, Any]], str]:
        """What writes validated values: the plainer their types are, the less there is to look at."""
        kinds = self._signature.types.values()
        if all(map(is_scalar, kinds)):
            return partial(dumps_scalars, self._limit, "arguments")
        return self._plain if all(map(is_plain, kinds)) else self._serialised

    @cached_property
    def _adapter(self) -> TypeAdapter[dict[str, Any]]:
        from pydantic import ConfigDict, PydanticUserError, TypeAdapter  # noqa: PLC0415
        from typing_extensions import TypedDict  # noqa: PLC0415 - comes with pydantic, which needs this one

        optional = self._signature.defaults
        fields = {
            name: NotRequired[kind] if name in optional else kind
            for name, kind in self._signature.types.items()
        }
        make_type: Any = TypedDict
        payload = make_type(self._task, fields)
        payload.__pydantic_config__ = ConfigDict(extra="forbid", val_json_bytes="base64")
        try:
            return TypeAdapter(payload)
        except PydanticUserError as error:
            raise InvalidOption(
                f"task {self._task!r} takes a type that cannot travel as JSON: {str(error).splitlines()[0]}"
            ) from None
