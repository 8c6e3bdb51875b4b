-- Debounced: the newcomer's payload and owner.
update {jobs} as j set payload_json = e.payload_json, owner = e.owner, spec = e.spec, updated_at = :now
from {rows(id uuid, payload_json text, owner text, spec text)}
where j.id = e.id and j.key_held and j.finished_at is null
