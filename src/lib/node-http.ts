// Node's http, loaded without its ES module: creating that module reads every export once, and some of them (WebSocket and related classes) load a whole fetch
// library that we never call. That is a quarter of the start of a small program.
import type http from 'node:http'
import { getBuiltinModule } from 'node:process'

export const nodeHttp: typeof http = getBuiltinModule('node:http')
