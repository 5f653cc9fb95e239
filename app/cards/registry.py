"""A card as an entry of the DP deployments registry: YAML in the shape of opendp/deployments-registry-data.

It is a draft for people: the registry has reviewers, and a list of sectors of its own.
"""

from __future__ import annotations

from typing import Any

import yaml  # type: ignore[import-untyped]  # it has no types of its own

from app.cards import tables
from app.cards.about import NOT_STATED
from app.cards.card import Card


def registry(card: Card) -> bytes:
    """The YAML file, every tier filled in. An optional field that the curator did not state is left out."""
    entry = {
        "url_slug": f"{card.predicate['dataset']['name']}-{card.predicate['release']['id']}".lower(),
        "status": "Draft",
        "tier": 3,
        "deployment": _deployment(card),
    }
    text: str = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=120)
    return text.encode()


def _deployment(card: Card) -> dict[str, Any]:
    about, predicate = card.about, card.predicate
    privacy, budget = predicate["privacy"], predicate["budget"]
    basic = {
        "name": card.title,
        "data_curators": [{"data_curator_name": about["curators"]}],
        "intended_use": about["intended_use"],
        "data_product_type": "Summary statistics",
        "data_product_region": about["region"],
        "description": card.description,
        "publication_date": predicate["release"]["published"],
    }
    if about["sector"] != NOT_STATED:
        basic["data_product_sector"] = about["sector"]
    return {
        "basic": basic,
        "dp_variant": {
            "variant_name": "Pure DP",
            "data_domain": _data_domain(card),
            "unprotected_quantities": " ".join(predicate["unprotected"]),
        },
        "privacy_loss": {
            "privacy_unit": "Record-level" if privacy["unit"]["kind"] == "record" else "Person-level",
            "privacy_unit_details": f"Add/remove (unbounded): {privacy['neighbours']}",
            "privacy_parameters": {"epsilon": float(privacy["epsilon"])},
            "privacy_parameters_details": tables.mechanism_words(card),
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": predicate["trust"],
            "release_type": "One release",
            "release_type_details": (
                f"The dataset has a budget for all of its releases: {budget['granted']} granted and {budget['spent']} "
                "spent, right after the charge for this release."
            ),
            "data_source_type": "Static",
            "access_type": "Non-interactive",
            "access_type_details": "Questions are asked of the noisy histogram. They never reach the rows.",
        },
        "accounting": {"post_processing": predicate["post_processing"], "composition": predicate["composition"]},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": about["preparation"],
            "mechanisms": f"{tables.mechanism_words(card)} {predicate['implementation']}",
            "justification": about["justification"],
        },
        "administrative": {
            "sources": (
                f"SHA-256 of the synopsis: {card.synopsis_digest}. SHA-256 of the card: {card.digest}. "
                f"{tables.record_words(card)}"
            ),
            "registry_authors": [about["curators"]],
        },
    }


def _data_domain(card: Card) -> str:
    attributes = card.predicate["dataset"]["attributes"]
    ranges = [f"{attribute['name']} ({tables.range_words(attribute)})" for attribute in attributes]
    return f"All files of rows with these public attributes: {'; '.join(ranges)}."
