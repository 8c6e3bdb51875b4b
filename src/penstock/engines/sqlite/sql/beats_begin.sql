insert or replace into beats (worker, until) values (?, ?)
