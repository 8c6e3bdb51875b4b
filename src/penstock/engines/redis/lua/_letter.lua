-- A dead letter: failed, recovered (0: not), double; the job it was recovered as, 16 bytes; attempts, uint16;
-- first started, ran for, double; reason, uint16 and text; last error, uint32 and (double: when, and JSON); the base.
local function read_letter(letter)
  local l, at = {}
  l.failed, l.recovered, l.heir, at = struct.unpack('<ddc16', letter)
  local reason = struct.unpack('<H', letter, at + 18)
  at = at + 20 + reason
  local error = struct.unpack('<I4', letter, at)
  l.base = sub(letter, at + 4 + error)
  return l
end
