-- Who was woken by this step: of those that waited, and by queue; without those that it has claimed itself.

local woken = 0
local woken_in = {}
