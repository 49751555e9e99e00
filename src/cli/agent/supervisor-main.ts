// Where the process begins that keeps an agent running and switches it: `supervisor-main.ts AGENT_PROGRAM --root NODE_FOLDER …`.
import { join } from 'node:path'
import process, { argv, execPath, exit, stderr } from 'node:process'
import { superviseAgent } from '#agent/self/supervisor.ts'
import { systemClock } from '#lib/clock.ts'
import { loggerTo } from '#lib/log.ts'

const [program, ...args] = argv.slice(2)
const at = args.indexOf('--root')
const root = at === -1 ? undefined : args[at + 1]
if (program === undefined || root === undefined) {
  stderr.write('usage: supervisor-main.ts AGENT_PROGRAM --root NODE_FOLDER [argument of the agent …]\n')
  exit(1)
}
const stop = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => stop.abort(new Error(`ended by ${signal}`)))
const log = loggerTo((level, message, fields) => {
  stderr.write(`${JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...fields })}\n`)
})
const state = join(root, 'state')
// Between two agents nothing else keeps the process awake.
setInterval(() => undefined, 2 ** 30)
exit(await superviseAgent({ state, node: execPath, program, args, clock: systemClock, log, signal: stop.signal }))
