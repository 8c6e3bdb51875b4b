update {jobs} as j set cancel_note = coalesce(j.cancel_note, :note)
from {rows(id uuid)} where j.id = e.id and j.finished_at is null
