"""The converters by the kinds of attributes: one table for all readers."""

from __future__ import annotations

from collections.abc import Mapping

from app.ingest.columns.categories import CategoryConverter
from app.ingest.columns.converter import Converter
from app.ingest.columns.numbers import NumberConverter
from app.ingest.columns.times import DateConverter, DatetimeConverter
from core.domain.attribute import Attribute
from core.domain.category import Category
from core.domain.dates import Date, Datetime
from core.domain.integer import Integer
from core.domain.number import Number

CONVERTERS: Mapping[str, type[Converter]] = {
    Number.kind: NumberConverter,
    Integer.kind: NumberConverter,
    Category.kind: CategoryConverter,
    Date.kind: DateConverter,
    Datetime.kind: DatetimeConverter,
}


def converter_of(attribute: Attribute) -> Converter:
    """The converter of an attribute."""
    return CONVERTERS[attribute.kind](attribute)
