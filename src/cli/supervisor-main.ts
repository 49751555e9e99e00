// Entry point of the supervisor, which keeps an agent running and switches versions: `supervisor-main.ts AGENT_PROGRAM --root NODE_FOLDER …`.
import { join } from 'node:path'
import { argv, execPath, exit } from 'node:process'
import { superviseAgent } from '#agent/self/supervisor.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { lineLogger } from '#lib/log.ts'
import { keepOthersFromWriting } from '#lib/private-folder.ts'
import { requireTrustedWay } from '#lib/trusted-way.ts'
import { standardError } from '#lib/terminal/standard-error.ts'
import { untilEnded } from '#runtime/until-ended.ts'

keepOthersFromWriting()
const [program, ...args] = argv.slice(2)
const at = args.indexOf('--root')
const root = at === -1 ? undefined : args[at + 1]
if (program === undefined || root === undefined) {
  standardError.write('usage: supervisor-main.ts AGENT_PROGRAM --root NODE_FOLDER [argument of the agent …]\n')
  exit(1)
}
try {
  // Agent copies run from this folder.
  requireTrustedWay(root)
} catch (e) {
  standardError.write(`${messageOf(e)}\n`)
  exit(1)
}
const stop = untilEnded()
const log = lineLogger(standardError)
const state = join(root, 'state')
// Nothing else keeps the process alive between two agents.
setInterval(() => undefined, 2 ** 30)
exit(await superviseAgent({ state, node: execPath, program, args, clock: systemClock, log, signal: stop.signal }))
