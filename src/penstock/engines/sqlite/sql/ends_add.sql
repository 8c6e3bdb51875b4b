insert into temp.penstock_ends (id, token, result, note, ran_for, keep)
select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 from json_each(?)
