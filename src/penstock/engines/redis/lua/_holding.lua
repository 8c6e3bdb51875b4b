-- Who holds a key: its id; or, for the rest of a period, the id of a job whose record is gone and until when, double.
local HELD, PERIODS = p .. 'keys', p .. 'periods'

local function key_field(base) return base.kind .. ':' .. base.key end

local function period_end(base, window) return base.created + struct.unpack('<d', window, 2) end

-- A job whose window is over lets go, unless another holds the key by now.
local function let_key_go(id, base)
  if call('HGET', HELD, key_field(base)) == id then call('HDEL', HELD, key_field(base)) end
end

-- Its record goes, and its key with it, but for the rest of a period.
local function lose_key(id, base, window)
  local field = key_field(base)
  if not window or sub(window, 1, 1) ~= 'p' then return let_key_go(id, base) end
  if call('HGET', HELD, field) ~= id then return end
  local till = period_end(base, window)
  call('HSET', HELD, field, id .. struct.pack('<d', till))
  call('ZADD', PERIODS, score(till), field)
end

-- Who keeps others out; its state, where it has no record any more; and whether newcomers replace what it brings.
local function holder_of(field, now)
  local held = call('HGET', HELD, field)
  if not held then return nil end
  if #held > 16 then
    if struct.unpack('<d', held, 17) > now then return sub(held, 1, 16), 'c' end
    return nil
  end
  if call('HEXISTS', JOBS, held) == 0 then return nil end
  local window = more_of(held).w
  if not window or sub(window, 1, 1) ~= 'p' then return held, nil, window and sub(window, 1, 1) == 'd' end
  local run = call('HGET', RUNS, held)
  local over = run and BY_ID[sub(run, 1, 1)] and period_end(read_base(call('HGET', JOBS, held)), window) <= now
  if not over then return held end
end

-- Whoever holds a key until it is claimed holds it no longer.
local function begin(id, base)
  local window = more_of(id).w
  if window and (sub(window, 1, 1) == 's' or sub(window, 1, 1) == 'd') then let_key_go(id, read_base(base)) end
end
