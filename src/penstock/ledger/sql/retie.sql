update {jobs} as j set spec = e.spec from {rows(id uuid, spec text)} where j.id = e.id
