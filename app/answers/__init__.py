"""The service's answers: who may ask, what is cached, what is stored, and what a worker process computes.

`answers` looks up the release and caches, `stored_answers` is the table of costly answers, `long_answers` computes in
worker processes, and `answer_process` is the inside of one. The questions themselves are in `app.questions`, which
knows nothing of this room.
"""
