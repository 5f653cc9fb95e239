"""Croissant 1.1: a card as JSON-LD that dataset catalogues read (Dataverse, CKAN, Kaggle, Hugging Face).

The specification: http://mlcommons.org/croissant/1.1. Addresses are relative to that of the document.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.cards.about import NOT_STATED
from app.cards.card import Card
from app.cards.files import File

SPECIFICATION = "http://mlcommons.org/croissant/1.1"
# Terms of Croissant, and types of values. What mlcroissant, which validates such documents, wants goes before the
# specification's appendix 1: schema.org with https, and terms of version 1.0.
_TERMS = (
    "annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "readLines", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
    "sdVersion", "separator", "source", "subField", "transform", "unArchive", "value",
)  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}


def croissant(card: Card, files: Sequence[File], *, url: str | None = None) -> bytes:
    """The description of a release and of these files. `url` is its page; by default that of the dashboard."""
    about, predicate = card.about, card.predicate
    release = predicate["release"]
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": SPECIFICATION,
        "name": card.title,
        "description": card.description,
        "identifier": release["id"],
        "url": url or f"/releases/{release['id']}",
        "citeAs": f"{card.title}, {release['published']}, SHA-256 {card.synopsis_digest}",
        "license": about["licence"],
        "creator": {"@type": "sc:Organization", "name": about["curators"]},
        "datePublished": release["published"],
        "version": "1.0.0",
        "isLiveDataset": False,
        "keywords": ["differential privacy", "histogram", *_stated(about["sector"])],
        "spatialCoverage": about["region"],
        "usageInfo": about["intended_use"],
        "rai:dataCollection": about["collection"],
        "rai:dataUseCases": about["intended_use"],
        "rai:personalSensitiveInformation": (
            f"Pure epsilon-differential privacy with epsilon {predicate['privacy']['epsilon']}. "
            f"{predicate['privacy']['neighbours']} Not covered: {' '.join(predicate['unprotected'])}"
        ),
        "distribution": [_file_object(file) for file in files],
    }
    records = [_record_set(file) for file in files if file.columns]
    if records:
        described["recordSet"] = records
    return (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode()


def _stated(text: str) -> list[str]:
    return [] if text == NOT_STATED else [text]


def _file_object(file: File) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "description": file.description,
        "contentUrl": file.url,
        "encodingFormat": file.media_type,
        "sha256": file.sha256,
    }


def _record_set(file: File) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "cells",
        "name": "cells",
        "description": "One record for each released cell. Counts are noisy and may be negative.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"cells/{column.name}",
                "name": column.name,
                "dataType": column.data_type,
                "source": {"fileObject": {"@id": file.name}, "extract": {"column": column.name}},
            }
            for column in file.columns
        ],
    }
