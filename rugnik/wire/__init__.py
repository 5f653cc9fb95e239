"""The bodies of requests and replies, each spelled once: frozen dataclasses, one file per question or noun.

The service builds and documents these types (OpenAPI), and the client returns them. Every reply has the service's JSON
in `.raw`; those that are tables have `to_pandas()`. Epsilons are decimal strings, which are exact.

This package imports the standard library and `rugnik.errors`, and nothing else.
"""

from rugnik.wire.about import About, AboutBody
from rugnik.wire.alternatives import Alternative, CountPrediction, Prediction, Recommendation
from rugnik.wire.assign import AssignBody, Assignment
from rugnik.wire.base import Body, Reply
from rugnik.wire.card import Card, CardSubject
from rugnik.wire.cells import Axis, Reach
from rugnik.wire.clusters import CentreShift, Clusters, ClusterUncertainty, Merge
from rugnik.wire.common import (
    Answer,
    Ends,
    Estimate,
    Grid,
    Interval,
    ValueEnds,
    ValueEstimate,
    ValueInterval,
)
from rugnik.wire.components import Component, Components
from rugnik.wire.conditional import Conditional, Distribution
from rugnik.wire.count import Count, CountNoise
from rugnik.wire.counting import Awaited, SizeBody
from rugnik.wire.counts import Counts, CountsBody, ManyEnds, ManyNoises
from rugnik.wire.datasets import (
    Attribute,
    AttributeBody,
    Budget,
    Dataset,
    DatasetBody,
    DatasetList,
    GrantBody,
    ReleaseList,
    ReleaseSummary,
    RuleBody,
    SynopsisReference,
    Unit,
    UnitBody,
)
from rugnik.wire.groups import Group, Grouped
from rugnik.wire.health import Health
from rugnik.wire.hotspots import Hotspot, Hotspots
from rugnik.wire.information import AttributeEntropy, Information
from rugnik.wire.keys import Key, KeyBody, KeyList, NewKey
from rugnik.wire.layers import LayerCells, Layers
from rugnik.wire.ledger import Consistency, Head, LedgerEntry, LedgerPage, Verification, VerificationStep
from rugnik.wire.marginal import Bounds, Marginal, Sides
from rugnik.wire.moments import AttributeMoments, Moments, PairMoments, Shift
from rugnik.wire.orders import (
    AttributeCost,
    DeclaredBody,
    EstimateBody,
    Noise,
    OrderBody,
    PersonCost,
    Plan,
    PlanBody,
    PlanBudget,
    Predicted,
    TargetBody,
    TermsBody,
)
from rugnik.wire.quantiles import Quantile, Quantiles
from rugnik.wire.regression import Coefficient, Regression
from rugnik.wire.releases import Charge, Ingest, Published, Release, ReleasePlan
from rugnik.wire.requests import ApprovalRequest, ApprovalRequestList, RefusalBody
from rugnik.wire.rows import Rows
from rugnik.wire.scan import RecommendedClusters, Scan, ScanLine
from rugnik.wire.synopsis import Offsets, Synopsis

__all__ = [
    "About",
    "AboutBody",
    "Alternative",
    "Answer",
    "ApprovalRequest",
    "ApprovalRequestList",
    "AssignBody",
    "Assignment",
    "Attribute",
    "AttributeBody",
    "AttributeCost",
    "AttributeEntropy",
    "AttributeMoments",
    "Awaited",
    "Axis",
    "Body",
    "Bounds",
    "Budget",
    "Card",
    "CardSubject",
    "CentreShift",
    "Charge",
    "ClusterUncertainty",
    "Clusters",
    "Coefficient",
    "Component",
    "Components",
    "Conditional",
    "Consistency",
    "Count",
    "CountNoise",
    "CountPrediction",
    "Counts",
    "CountsBody",
    "Dataset",
    "DatasetBody",
    "DatasetList",
    "DeclaredBody",
    "Distribution",
    "Ends",
    "Estimate",
    "EstimateBody",
    "GrantBody",
    "Grid",
    "Group",
    "Grouped",
    "Head",
    "Health",
    "Hotspot",
    "Hotspots",
    "Information",
    "Ingest",
    "Interval",
    "Key",
    "KeyBody",
    "KeyList",
    "LayerCells",
    "Layers",
    "LedgerEntry",
    "LedgerPage",
    "ManyEnds",
    "ManyNoises",
    "Marginal",
    "Merge",
    "Moments",
    "NewKey",
    "Noise",
    "Offsets",
    "OrderBody",
    "PairMoments",
    "PersonCost",
    "Plan",
    "PlanBody",
    "PlanBudget",
    "Predicted",
    "Prediction",
    "Published",
    "Quantile",
    "Quantiles",
    "Reach",
    "Recommendation",
    "RecommendedClusters",
    "RefusalBody",
    "Regression",
    "Release",
    "ReleaseList",
    "ReleasePlan",
    "ReleaseSummary",
    "Reply",
    "Rows",
    "RuleBody",
    "Scan",
    "ScanLine",
    "Shift",
    "Sides",
    "SizeBody",
    "Synopsis",
    "SynopsisReference",
    "TargetBody",
    "TermsBody",
    "Unit",
    "UnitBody",
    "ValueEnds",
    "ValueEstimate",
    "ValueInterval",
    "Verification",
    "VerificationStep",
]
