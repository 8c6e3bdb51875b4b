#!lua flags=allow-oom
-- Write how runs ended, where id, token and state match; then claim the next.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 '1' where an earlier call with these tokens may have succeeded; 3 how many ends; 4… the ends,
--      see `read_end` in _ending.lua; then the want, see `claim` in _claim.lua, or nothing
-- Returns one letter for each end: the state it led to, '-' where it was refused, '=' where an earlier call had
--      written it; then what `claim` answers, where something was wanted
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _lines
--@ _finish
--@ _ending
--@ _claim
local now, again, size = time_of(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
local ends, ids, ended, told = {}, {}, {}, {}
for i = 1, size do
  ends[i] = read_end(ARGV[3 + i])
  ids[i] = ends[i].id
end

-- Whether an earlier call with this token got through. Where no record is kept, none is the proof.
local function had_ended(e, run)
  if not again or ended[e.id] or e.id == NOBODY then return false end
  if not run then return e.state == 'c' and not e.keep and call('HEXISTS', JOBS, e.id) == 0 end
  return run.state ~= 'a' and run.token == e.token and e.token ~= NOBODY
end

for i, raw in ipairs(values(RUNS, ids)) do
  local e, run = ends[i], raw and read_run(raw)
  if run and run.state == 'a' and run.token == e.token and not ended[e.id] then
    told[i] = end_run(run, e, now)
    ended[e.id] = true
  else
    told[i] = had_ended(e, run) and '=' or '-'
  end
end
write_all()
local answer = {}
if ARGV[4 + size] then
  answer = claim(now, 4 + size)
  write_all()
end
table.insert(answer, 1, table.concat(told))
return answer
