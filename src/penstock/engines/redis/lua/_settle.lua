-- Ends, and then the claim: the body of settle.lua and settle_then.lua.
local again, size = ARGV[2] == '1', tonumber(ARGV[6])
local refused, place = {}, 0

-- Whether an earlier call with this token got through. Where no record is kept, none is the proof.
local function had_ended(id, token, run, keep)
  if not again or id == NOBODY then return false end
  if not run then return not keep and call('HEXISTS', JOBS, id) == 0 end
  return byte(run, 1) ~= ACTIVE and token ~= NOBODY and sub(run, 49, 64) == token
end

-- What the one at this place would leave.
local function left_by(i)
  local at = 1
  for _ = 2, i do at = at + 4 + struct.unpack('<I4', ARGV[5], at) end
  return long_way().read_sections(ARGV[5], at + 4, at + 3 + struct.unpack('<I4', ARGV[5], at))
end

local function complete_all(packed, keep)
  complete(packed, keep, now, function(i, id, token, run)
    if not had_ended(id, token, run, keep) then refused[#refused + 1] = place + i end
  end, function(i, id, ran_for, run)
    local e = { id = id, ran_for = ran_for, state = 'c', keep = keep }
    e.texts = keep and {} or left_by(i)
    long_way().end_run(read_run(run), e, now)
  end)
  write_all()
  place = place + #packed / 40
end

complete_all(ARGV[3], true)
complete_all(ARGV[4], false)
for i = 1, size do
  local e = long_way().read_end(ARGV[6 + i])
  local run = call('HGET', RUNS, e.id)
  if run and byte(run, 1) == ACTIVE and sub(run, 49, 64) == e.token then
    local state = long_way().end_run(read_run(run), e, now)
    write_all()
    if state == 'c' then follow(i) end
  elseif not had_ended(e.id, e.token, run, e.keep or e.state ~= 'c') then
    refused[#refused + 1] = place + i
  end
end
if not ARGV[want_at] then return { refused } end
local answer = claim(now, want_at)
write_all()
table.insert(answer, 1, refused)
return answer
