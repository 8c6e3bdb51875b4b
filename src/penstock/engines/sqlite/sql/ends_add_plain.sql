-- Ends without result and note, packed: an id of 36 letters, a token of 32, `keep`, the seconds it ran.
insert into temp.penstock_ends (id, token, keep, ran_for)
select substr(value, 1, 36), substr(value, 37, 32), substr(value, 69, 1), substr(value, 70) from json_each(?)
