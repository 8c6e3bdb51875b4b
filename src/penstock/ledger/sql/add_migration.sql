insert into {migrations} (name) values (:name)
