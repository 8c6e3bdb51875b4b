"""The ledger: beside an engine that can lose jobs (Redis), a durable row of each in SQL.

Its table is `background_jobs`.

The ledger is the authority. A job is accepted when its row is committed, and has ended when its row says so;
what Redis holds is a copy to work from, made anew from the rows where it is lost.

**What is written when**, each step after the one before was acknowledged:

enqueue   1. the row: `pending`, without `bull_job_id`; its key is taken here, by the windows of the contract
          2. dispatch: the job goes to Redis, under the same id
          3. mark: `bull_job_id` is set
claim     1. Redis gives the job out: a token, and a fence that grows with every claim
          2. start: `processing`, the token, the fence, the attempt; only over a smaller fence
          3. the worker has it
settle    1. save: the status, the result, the error, under the token; jobs that follow get their rows with it
          2. Redis is settled, and has the jobs that follow
          3. those are marked

**What a crash in between leaves, and who repairs it.**

after enqueue 1  a row that was not dispatched: the reconciler dispatches it, once, by its id
after enqueue 2  the same, and Redis knows the id: it is only marked
after claim 1    Redis believes that a dead worker holds it: rescued as always; the row is as it was
after claim 2    the same; the next claim has a greater fence and takes the row over
after settle 1   the row has ended and Redis does not know: rescued, claimed again, found ended at `start`. It
                 is not run: its claim is settled from the row. What was to be tried again, is
after settle 2   jobs that follow, not marked: as after enqueue 2

A holder that was given up is refused by its token where another has started since, or where its job was
taken back (the rescue is written to the row). Where neither has happened its end is the truth, and is
saved; what Redis says to it then does not matter. So each job has one accepted end, and none is
`completed` whose run was not.

**Away.** Without the ledger's database nothing is accepted, claimed or settled: EngineUnavailable, and
workers keep the ends of their runs until it is back. Without Redis jobs are accepted all the same, and
dispatched later; all else waits.

**The reconciler** (`reconcile`, in bounded steps, by every worker) goes through the rows that have not
ended: it dispatches what was not; dispatches again what Redis does not know (flushed, or lost with its
last second); writes ends that only Redis knows of (expired, cancelled with another, failed by a rescue);
and tells Redis, of what the workers of its own process hold there, which runs are over by their rows: of
those it has lost the end, and nobody would rescue them. Each repair is a line of the log and is counted.
What was restored goes on with the attempts that are left. A row with which something is wrong is set aside,
and blocks no other.

**A debounced job's row** has what the latest newcomer brought, written by the step that accepts the newcomer,
and is to be dispatched again; then Redis is told. A run begins with what its row has.

**What people have said** is kept beside the rows: which queues are paused, and the schedules. It is given
back to Redis when a worker registers and before each step of the reconciler. A pause does not depend on
that: `start` begins no job of a queue that is paused by the ledger. When a job is due and expires is in its
row, written after every verb that moves it. A request to stop is, too: what Redis lost of such a job is not
run again. A dead letter that Redis lost is read, and recovered, from the row.

**Who may come in, what was done, and what was said of it** (tokens, sessions, the audit, remarks: notes of
the kinds LASTING) is in the ledger alone, and can be had without Redis.

Results of steps, progress, ticks, and what limits and breakers have counted are lost with Redis.
"""
