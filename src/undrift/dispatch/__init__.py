"""Dispatches plans: each task goes to an implementer and a reviewer until it is done; later agents get the facts.

Law: deterministic, and no model is asked; every result is on disk, with its facts and the ledger, before it counts.
"""

from undrift.core.dispatch.classify import HeuristicComplexityClassifier
from undrift.core.dispatch.plan import Plan, PlanTask, parse_plan
from undrift.core.dispatch.prompt import CompiledPrompt, build_dispatch_dynamic_tail
from undrift.core.dispatch.task_ledger import TaskLedger
from undrift.dispatch.agents import CommandAgents, Reply
from undrift.dispatch.default import dispatch_runtime_manager, stored_manager
from undrift.dispatch.manager import DispatchRuntimeManager, Ingested
from undrift.dispatch.routing import RoutingTable
from undrift.dispatch.runner import Event, RunReport, TaskReport, dispatch, report_of
from undrift.dispatch.runs import InMemoryRunStore, RunStore, SqliteRunStore

__all__ = [
    "CommandAgents",
    "CompiledPrompt",
    "DispatchRuntimeManager",
    "Event",
    "HeuristicComplexityClassifier",
    "InMemoryRunStore",
    "Ingested",
    "Plan",
    "PlanTask",
    "Reply",
    "RoutingTable",
    "RunReport",
    "RunStore",
    "SqliteRunStore",
    "TaskLedger",
    "TaskReport",
    "build_dispatch_dynamic_tail",
    "dispatch",
    "dispatch_runtime_manager",
    "parse_plan",
    "report_of",
    "stored_manager",
]
