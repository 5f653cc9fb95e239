"""How replies are shown to a person: a line of text, HTML for a notebook, axes of matplotlib.

`views` says what is shown of each type, as a View: a line, charts, tables, remarks. Everything else draws a View and
knows no type: `text` and `html` for the terminal and the notebook, `svg` and `plots` for its charts. Nothing here asks
the service, and nothing is imported before somebody looks.
"""
