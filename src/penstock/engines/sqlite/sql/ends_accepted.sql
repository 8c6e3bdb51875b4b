select id, token from temp.ends
