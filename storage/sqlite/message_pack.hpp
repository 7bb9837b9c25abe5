// MessagePack for the rules in this process, as Redis gives it to them: `cmsgpack.pack` and `cmsgpack.unpack`, each of
// one value. What cannot be unpacked is nil.
#pragma once

struct lua_State;

namespace sluice::storage::sqlite {

// Makes them a global of this state. What cannot be packed raises.
void open_message_pack(lua_State* state);

}  // namespace sluice::storage::sqlite
