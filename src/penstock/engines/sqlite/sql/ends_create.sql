create temp table if not exists penstock_ends (id text, token text, result text, note text, ran_for real, keep integer)
