// Starts a node's agent as a process that outlives this one, and finds processes that a predecessor started.
import { closeSync } from 'node:fs'
import { parse } from 'node:path'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'
import { openLog } from '#lib/whole-file.ts'
import type { NodeLayout } from './layout.ts'
import { NODE_MARK, type ProcessId, type ProcessInfo, isAlive, processes } from './proc.ts'
import { startDetached } from './start-detached.ts'
import { providersErrors } from '../providers-errors.ts'

/** A node's agent command: a program and arguments, such as node, its entry file and `--root <dir>`. */
export type AgentCommand = (node: NodeLayout) => readonly [file: string, ...args: string[]]

/** The complete environment of an agent. It inherits nothing from this process. */
const environment = (node: NodeLayout, compileCache: string | undefined): Record<string, string> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...LEAN_MALLOC,
  [NODE_MARK]: node.dir,
  ...defined({ NODE_COMPILE_CACHE: compileCache }),
})

export async function startAgent(node: NodeLayout, command: AgentCommand, compileCache?: string): Promise<ProcessId> {
  const [file, ...args] = command(node)
  const log = openLog(node.agentLog)
  try {
    const id = await startDetached(file, args, { cwd: node.root, env: environment(node, compileCache), log })
    if (id !== undefined) return id
  } catch (cause) {
    throw cannotStart(node, file, cause)
  } finally {
    closeSync(log)
  }
  throw cannotStart(node, file)
}

const cannotStart = (node: NodeLayout, file: string, cause?: unknown): KubeNodeError =>
  new KubeNodeError(
    providersErrors.KN11002({
      dir: node.dir,
      file,
      detail: cause === undefined ? 'ended immediately' : 'could not be started',
      agentLog: node.agentLog,
    }),
    { retry: 'later', cause },
  )

/** The recorded process, or one with the same command for the same node: a crash may have come between its start and the record. */
export async function findAgent(
  node: NodeLayout,
  command: AgentCommand,
  recorded: ProcessId | undefined,
): Promise<ProcessId | undefined> {
  if (recorded !== undefined && (await isAlive(recorded))) return recorded
  const found = (await processes()).find((p) => runsAgent(p, node, command(node)))
  return found && { pid: found.pid, startTime: found.startTime }
}

const runsAgent = ({ args, env }: ProcessInfo, node: NodeLayout, command: readonly string[]): boolean =>
  env.includes(`${NODE_MARK}=${node.dir}`) &&
  args.length === command.length &&
  args.every((a, i) => a === command[i] || isSameEntry(a, command[i] ?? ''))

/** The same program from a different build. */
const isSameEntry = (a: string, b: string): boolean =>
  /\.m?[jt]s$/.test(a) && /\.m?[jt]s$/.test(b) && parse(a).name === parse(b).name
