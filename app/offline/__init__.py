"""Answers from a bundle, without a service: the routes of a release's questions as a transport of httpx.

`values` and `parameters` read a request by the declarations that the service validates by, `answering` asks
`app.questions`, and `transport` is what the client of `rugnik` speaks to in place of a service. Nothing here imports a
web framework, a database or pydantic: NumPy, SciPy, orjson and httpx are all that it needs.
"""
