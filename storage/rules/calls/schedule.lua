-- One schedule, and the places of all.
function by_name.schedule(step, asked)
  local places_of_all = {}
  for _, text in ipairs(call('HVALS', step.keys.even_places)) do
    places_of_all[#places_of_all + 1] = schedule_views.place_of(text)
  end
  return {now = step.now_text, row = schedule_views.found(step, asked.name), places = places_of_all}
end
