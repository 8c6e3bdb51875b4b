#!lua
-- Make a new job of each dead letter that has none yet, linked both ways; the key goes over.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: id of the dead letter, and the new job as a group of one, see _group.lua
-- Returns id of the job each was recovered as, '' for no such dead letter
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _flows
--@ _holding
--@ _finish
--@ _ties
--@ _group
--@ _insert
--@ _letter
local now, at, answer = time_of(ARGV[1]), 2, {}

-- The key goes to the heir, unless another job has taken it since.
local function pass_key(dead, job, window)
  local holder = holder_of(job.group.kind .. ':' .. job.u, now)
  if holder and holder ~= dead then
    job.u = nil
  elseif sub(window, 1, 1) ~= '-' then
    job.t, job.base = write_more({ w = window }), flagged(job.base, 1)
  end
end

-- Those who went on waiting when it failed wait for its heir; whether there are any.
local function repoint(dead, heir)
  local edges = edges_to(dead)
  for _, edge in ipairs(edges) do
    local id, rule = sub(edge, 17, 32), sub(edge, 33)
    local more, all = more_of(id), {}
    call('ZREM', EDGES, edge)
    call('ZADD', EDGES, '0', heir .. id .. rule)
    for i = 1, #more.a, 17 do
      local upstream = sub(more.a, i, i + 15)
      all[#all + 1] = (upstream == dead and heir or upstream) .. sub(more.a, i + 16, i + 16)
    end
    more.a = table.concat(all)
    call('HSET', MORES, id, write_more(more))
  end
  return #edges > 0
end

-- It has waited for whom the first one has, and is in its flow; whether there are any.
local function stand_in(dead, heir)
  local was = more_of(dead)
  if not (was.a or was.l) then return false end
  local more = more_of(heir)
  more.a, more.l = was.a, was.l
  call('HSET', MORES, heir, write_more(more))
  if was.l then join_flow(heir, was.l, '', now) end
  return true
end

local function link(dead, raw, job)
  local letter = struct.pack('<d', now) .. job.id
  call('HSET', p .. 'dead', dead, sub(raw, 1, 8) .. letter .. sub(raw, 33))
  call('ZREM', p .. 'dead:open:' .. job.group.kind, dead)
  call('ZADD', p .. 'dead:past:' .. job.group.kind, 0, dead)
  count(job.group.queue, 'dead', -1)
  local run = call('HGET', RUNS, dead)
  if run then
    run = read_run(run)
    run.texts.a = job.id
    call('HSET', RUNS, dead, write_run(run))
  end
end

while at <= #ARGV do
  local dead, raw, group, job = ARGV[at], call('HGET', p .. 'dead', ARGV[at])
  group, at = read_group(at + 1, now)
  job, at = read_job(group, at)
  local letter = raw and read_letter(raw)
  if not letter then
    answer[#answer + 1] = ''
  elseif letter.recovered > 0 then
    answer[#answer + 1] = letter.heir
  else
    if job.u then pass_key(dead, job, letter.window) end
    insert(job)
    local stepped = call('COPY', steps_of(dead), steps_of(job.id)) == 1
    local stands_in = stand_in(dead, job.id)
    if repoint(dead, job.id) or stands_in or stepped then flag(job.id) end
    link(dead, raw, job)
    write_all()
    answer[#answer + 1] = job.id
  end
end
write_all()
return answer
