// Node's http, taken without its ES module: making that one reads each of its exports once, and some of them (WebSocket and its kin) load a whole
// fetch library, a quarter of the start of a small program, which nobody here calls.
import type http from 'node:http'
import { getBuiltinModule } from 'node:process'

export const nodeHttp: typeof http = getBuiltinModule('node:http')
