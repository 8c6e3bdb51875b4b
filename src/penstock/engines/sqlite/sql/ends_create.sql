-- `keep`: 1, its record is kept; 2, it goes to the history at once; 0, neither.
create temp table if not exists penstock_ends (id text, token text, result text, note text, ran_for real, keep integer)
