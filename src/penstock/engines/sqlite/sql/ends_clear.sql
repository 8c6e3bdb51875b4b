delete from temp.ends
