"""The states of a service: what it has to do, and a machine that compares a real service with that.

`specification` shares no line with `core` and `app`. `machine` drives the service by every action that changes a
state.
"""
