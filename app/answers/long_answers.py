"""LongAnswers: answers that take long, computed in worker processes."""

from __future__ import annotations

from app.answers.answer_process import task_of
from app.errors import AnswerLost, AnswerStopped
from app.operations.worker_pool import Lost, OutOfTime, WorkerPool
from app.operations.worker_process import Refusal
from app.questions.prepared import Prepared
from app.questions.question import Question
from core.checkpoint import Checkpoint
from core.errors import InvalidQuery


class LongAnswers:
    """Computes answers in worker processes, each within `seconds`. These get the question and the public synopsis."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.pool = WorkerPool("app.answers.answer_process", seconds=seconds)

    def work_out(self, prepared: Prepared, question: Question, checkpoint: Checkpoint) -> bytes:
        """The encoded answer, the same bytes as in this process.

        Raises AnswerStopped beyond the time limit, AnswerLost if its process died twice, InvalidQuery, and what the
        checkpoint raises.
        """
        try:
            return self.pool.run(task_of(question, prepared.digest), prepared.synopsis.to_bytes, checkpoint)
        except Refusal as refusal:
            raise InvalidQuery(str(refusal)) from None
        except OutOfTime:
            raise AnswerStopped(limit=self._seconds, advice=question.effort(prepared).advice) from None
        except Lost:
            raise AnswerLost from None
