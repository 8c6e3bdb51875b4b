-- Debounced: the newcomer's payload, owner and due time.
update {jobs} as j set payload_json = e.payload_json, owner = e.owner, spec = e.spec, due_at = e.due_at, updated_at = :now
from {rows(id uuid, payload_json text, owner text, spec text, due_at timestamptz)}
where j.id = e.id and j.key_held and j.finished_at is null
