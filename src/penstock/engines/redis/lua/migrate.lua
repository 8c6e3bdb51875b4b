#!lua
-- Note which layouts these keys have had.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… names of the migrations that this release knows
-- Returns those that were missing
--@ _keys
local missing = {}
for i = 2, #ARGV do
  if call('SADD', p .. 'schema', ARGV[i]) == 1 then missing[#missing + 1] = ARGV[i] end
end
return missing
