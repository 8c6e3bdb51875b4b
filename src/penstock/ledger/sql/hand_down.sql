-- A failed job is recovered once: whoever comes first names the heir.
update {jobs} as j set key_held = false, recovered_as = e.heir
from {rows(id uuid, heir uuid)} where j.id = e.id and j.recovered_as is null
