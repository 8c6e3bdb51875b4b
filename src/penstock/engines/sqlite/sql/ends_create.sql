create temp table ends (id text, token text, result text, note text, ran_for real, keep integer)
