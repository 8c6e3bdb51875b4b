-- A dead letter: failed, recovered (0: not), double; the job it was recovered as, 16 bytes; attempts, uint16;
-- first started, ran for, double; for how long it held its key, as in _more.lua ('-' as long as its record lived), 9
-- bytes; reason, uint16 and text; last error, uint32 and (double: when, and JSON); the base.
local function read_letter(letter)
  local l, at = {}
  l.failed, l.recovered, l.heir, at = struct.unpack('<ddc16', letter)
  l.window = sub(letter, at + 18, at + 26)
  local reason = struct.unpack('<H', letter, at + 27)
  at = at + 29 + reason
  local error = struct.unpack('<I4', letter, at)
  l.base = sub(letter, at + 4 + error)
  return l
end
