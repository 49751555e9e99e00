// The agent program: parses arguments, stops on a signal, and picks the exit code. It loads none of the other commands.
import { join } from 'node:path'
import { execPath, exit } from 'node:process'
import { runAgent } from '#agent/agent.ts'
import { EXIT_SWITCH } from '#agent/self/switch-file.ts'
import { stopNode } from '#agent/stop-node.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import { lineLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { requireTrustedWay } from '#lib/trusted-way.ts'
import { standardError } from '#lib/terminal/standard-error.ts'
import { runningProgram } from '#lib/trusted-folder.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { VERSION } from '#lib/program-version.ts'

/** Exit code that asks the parent to restart the whole node, as after a reboot. */
const EXIT_REBOOT = 75
/** Another agent runs, the identity is a copy, the join was refused, or the agent left its host: a restart cannot help. */
const EXIT_FINAL = 78
const EXIT_ERROR = 1

const USAGE = 'usage: agent-main.ts --root NODE_FOLDER [--host] [--slot SLOT] [--stop] | --version\n'

interface AgentArguments {
  readonly root: string
  /** Stop all components of the node instead of running the agent. */
  readonly stop: boolean
  /** The node is this host, and the folder holds only the agent's state. */
  readonly host: boolean
  /** Set by the supervisor: the slot of this copy. Empty for the copy the host joined with. */
  readonly slot?: string
}

function parseArguments(argv: readonly string[]): AgentArguments | undefined {
  const at = argv.indexOf('--root')
  const root = at === -1 ? undefined : argv[at + 1]
  const slotAt = argv.indexOf('--slot')
  const slot = slotAt === -1 ? undefined : argv[slotAt + 1]
  const taken = new Set([at, at + 1, ...(slotAt === -1 ? [] : [slotAt, slotAt + 1])])
  const rest = argv.filter((a, n) => !taken.has(n) && a !== '--stop' && a !== '--host')
  return root === undefined || root.startsWith('-') || rest.length > 0
    ? undefined
    : { root, stop: argv.includes('--stop'), host: argv.includes('--host'), ...defined({ slot }) }
}

/** For an agent with a supervisor. Its next start resumes an interrupted operation, so an orphaned agent need not finish one. */
function supervised(slot: string) {
  const supervisor = process.ppid
  return {
    slot,
    endForSwitch: () => exit(EXIT_SWITCH),
    endIfOrphan: () => {
      if (process.ppid !== supervisor) exit(EXIT_ERROR)
    },
  }
}

export async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && argv[0] === '--version') {
    process.stdout.write(`${VERSION}\n`)
    return 0
  }
  const given = parseArguments(argv)
  if (given === undefined) {
    standardError.write(USAGE)
    return EXIT_ERROR
  }
  const stop = untilEnded()
  const log = lineLogger(standardError)
  const common = { path: given.root, clock: systemClock, random: systemRandom, log, nodeBinary: execPath }
  // Nothing else keeps the process alive while the agent waits.
  const awake = setInterval(() => undefined, 2 ** 30)
  try {
    // Programs in the folder run with our rights; the lock protects the folder itself.
    const program = given.host ? {} : { program: runningProgram() }
    requireTrustedWay(join(given.root, 'state'), { ...program, isClosedByCaller: true })
    if (given.stop) {
      await stopNode(common)
      return 0
    }
    const own = given.slot === undefined ? {} : supervised(given.slot)
    const options = { ...common, ...own, host: given.host, version: VERSION, signal: stop.signal }
    collectAtRest(systemClock, thisEngine())
    for (;;) {
      const end = await runAgent(options)
      // Components keep running; only the agent's own parts are recreated.
      if (end === 'Reload') continue
      if (end === 'Left') return EXIT_FINAL
      return end === 'Reboot' ? EXIT_REBOOT : 0
    }
  } catch (e) {
    if (stop.signal.aborted) return 0
    standardError.write(`${messageOf(e)}\n`)
    return isKubeNodeError(e) && e.retry === 'never' ? EXIT_FINAL : EXIT_ERROR
  } finally {
    clearInterval(awake)
  }
}
