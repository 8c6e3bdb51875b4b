-- An id that was pruned may come in again: its last end is told.
on conflict (id) do update
    set (state, result, error, attempt, started_at, finished_at) = (excluded.state, excluded.result, excluded.error,
        excluded.attempt, excluded.started_at, excluded.finished_at)
