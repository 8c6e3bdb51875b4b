insert into temp.ends (id, token, result, note, ran_for, keep) values (?, ?, ?, ?, ?, ?)
