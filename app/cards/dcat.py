"""DCAT 3, minimal: a card as JSON-LD for data portals. https://www.w3.org/TR/vocab-dcat-3/"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.cards.about import NOT_STATED
from app.cards.card import Card
from app.cards.files import File

_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"


def dcat(card: Card, files: Sequence[File]) -> bytes:
    """A dcat:Dataset with a distribution for each file. What the curator did not state is left out."""
    about, release = card.about, card.predicate["release"]
    described: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "dcat:Dataset",
        "@id": f"/releases/{release['id']}",
        "dct:identifier": release["id"],
        "dct:title": card.title,
        "dct:description": card.description,
        "dct:issued": {"@type": "xsd:date", "@value": release["published"]},
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": about["curators"]},
        "dcat:contactPoint": {"@type": "vcard:Kind", "vcard:fn": about["contact"]},
        "dct:spatial": {"@type": "dct:Location", "rdfs:label": about["region"]},
        "dct:license": _licence(about["licence"]),
        "dcat:keyword": ["differential privacy", "histogram"],
        "dcat:distribution": [_distribution(file) for file in files],
    }
    unstated = {
        "curators": "dct:publisher", "contact": "dcat:contactPoint", "region": "dct:spatial", "licence": "dct:license",
    }  # fmt: skip
    for name, term in unstated.items():
        if about[name] == NOT_STATED:
            del described[term]
    return (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode()


def _licence(text: str) -> dict[str, str]:
    if text.startswith(("http://", "https://")) and " " not in text:
        return {"@id": text}
    return {"@type": "dct:LicenseDocument", "rdfs:label": text}


def _distribution(file: File) -> dict[str, Any]:
    return {
        "@type": "dcat:Distribution",
        "dct:title": file.name,
        "dct:description": file.description,
        "dcat:accessURL": {"@id": file.url},
        "dcat:downloadURL": {"@id": file.url},
        "dcat:mediaType": {"@id": _MEDIA_TYPES + file.media_type},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
        },
    }
