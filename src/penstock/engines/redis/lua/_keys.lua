-- Names, time, and commands over lists of any length. Every script begins with this.
local p = KEYS[1] -- the prefix, which holds the hash tag: all keys live in one slot
local call = redis.call
local byte, sub = string.byte, string.sub
local JOBS, RUNS = p .. 'jobs', p .. 'runs'
local NOBODY = string.rep('\0', 16) -- a token that is worth nothing

local the_time -- in microseconds since the epoch, once it was asked for

-- By the server's clock, unless a test says otherwise.
local function time_of(given)
  local t = given == '' and call('TIME')
  the_time = t and t[1] * 1000000 + t[2] or tonumber(given)
  return the_time
end

-- Lua hands over a few thousand values at once and no more.
local function in_parts(list, use)
  for i = 1, #list, 4000 do use(i, math.min(i + 3999, #list)) end
end

-- How many were changed, by what the server answers.
local function change(command, key, list)
  local changed = 0
  in_parts(list, function(i, j) changed = changed + call(command, key, unpack(list, i, j)) end)
  return changed
end

-- A score as text: numbers are printed anew for every argument, and slowly.
local function score(number) return string.format('%.0f', number) end

local function values(key, fields)
  local found = {}
  in_parts(fields, function(i, j)
    local part = call('HMGET', key, unpack(fields, i, j))
    for n = 1, #part do found[i + n - 1] = part[n] end
  end)
  return found
end

local function queue_of(kind) return sub(kind, 1, kind:find(':', 1, true) - 1) end

-- An id as people know it.
local function text_of(id)
  local hex = id:gsub('.', function(char) return string.format('%02x', byte(char)) end)
  return table.concat({ sub(hex, 1, 8), sub(hex, 9, 12), sub(hex, 13, 16), sub(hex, 17, 20), sub(hex, 21) }, '-')
end
