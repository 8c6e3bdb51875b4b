update {jobs} as j set key_held = false from {rows(id uuid)} where j.id = e.id
