// Node's http without its ES module: creating that module reads every export, and some (WebSocket and related classes) load a whole fetch library that KubeNode
// never uses. That is a quarter of a small program's startup.
import type http from 'node:http'
import { getBuiltinModule } from 'node:process'

export const nodeHttp: typeof http = getBuiltinModule('node:http')
