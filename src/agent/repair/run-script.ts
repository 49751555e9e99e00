// Runs a signed repair script: downloaded and verified again for each run, started from its own folder, deleted afterwards. Its files are not linked
// into the node, and only programs from the signed archive run.
import { closeSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { kill } from 'node:process'
import type { Clock } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { layoutOf } from '../components/layout.ts'
import { stage, type StageDeps } from '../components/stage.ts'
import { slotFolder, type NodeDir } from '../node-dir.ts'
import { processesMarked } from '../supervise/proc.ts'
import type { JobOperation } from './plan.ts'
import { runProgram } from './run-program.ts'
import type { StepResult } from './steps.ts'

export interface ScriptDeps extends Omit<StageDeps, 'clock'> {
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string>>
}

/** Interpreters that a script may name in its first line; a line of text must not give any other program root's rights. */
const INTERPRETERS: readonly string[] = [
  '/bin/sh',
  '/bin/bash',
  '/usr/bin/sh',
  '/usr/bin/bash',
  '/usr/bin/env bash',
  '/usr/bin/env sh',
  '/usr/bin/python3',
  '/usr/bin/env python3',
  '/usr/bin/perl',
  '/usr/bin/env node',
]

/** In the environment of every script, so that a later agent finds the processes of an earlier one. */
const MARK = 'KUBENODE_REPAIR'

const failed = (output: string): StepResult => ({ outcome: 'Failed', output })

/** Scripts are kept apart from components, so that a component with the same name is never touched. */
export const scriptsDir = (dir: NodeDir): NodeDir => ({ ...dir, state: join(dir.state, 'scripts') })

export const runsFolder = ({ state }: NodeDir): string => join(state, 'runs')

function ownDir(scripts: NodeDir): NodeDir {
  mkdirSync(runsFolder(scripts), { recursive: true })
  return { ...scripts, state: mkdtempSync(join(runsFolder(scripts), 'run-')) }
}

export async function runScript(
  deps: ScriptDeps,
  wanted: NonNullable<JobOperation['runScript']>,
  signal: AbortSignal,
): Promise<StepResult> {
  const { component, version, args = [] } = wanted
  const downloads = scriptsDir(deps.dir)
  // A killed script can hold on for a while, for example in an I/O call. The next one must not share its files.
  const dir = ownDir(downloads)
  try {
    const { slot, spec } = await stage({ ...deps, dir, downloads }, { name: component, version }, signal)
    const found = programOf(spec, slotFolder(dir, component, slot.id))
    const refusal = typeof found === 'string' ? found : interpreterRefusal(beginningOf(found.program))
    if (typeof found === 'string' || refusal !== undefined) return failed(refusal ?? '')
    const end = await runProgram({
      command: [found.program, ...found.args, ...args],
      folder: found.folder,
      environment: { ...deps.environment, [MARK]: downloads.state },
      timeoutMs: parseDuration(spec.script?.timeout ?? DEFAULT_TIMEOUT),
      signal,
      clock: deps.clock,
    })
    if (end.kind === 'Killed') return failed(`${end.output}\n${end.why}`.trim())
    return end.code === 0
      ? { outcome: 'Succeeded', output: end.output }
      : failed(`${end.output}\nexited with ${end.code}`.trim())
  } finally {
    rmSync(dir.state, { recursive: true, force: true })
  }
}

export const DEFAULT_TIMEOUT = '5m'

export interface Program {
  readonly program: string
  readonly args: readonly string[]
  readonly folder: string
}

/** The program, or why none may run. */
export function programOf(spec: MachineComponentSpec, folder: string): Program | string {
  if (spec.type !== 'Script' || spec.script === undefined) return `${spec.component} is no script`
  const [named = '', ...args] = spec.script.command
  const link = layoutOf(spec).links.find((l) => named === l.path || named.startsWith(`${l.path}/`))
  if (link === undefined || named.split('/').includes('..'))
    return `${named} is not in the archive of ${spec.component}`
  return { program: join(folder, link.inSlot, named.slice(link.path.length)), args, folder }
}

/** Of a program, to find its interpreter. */
export const FIRST_LINE = 256

/** Why it must not run, by its first bytes. */
export function interpreterRefusal(text: string): string | undefined {
  if (!text.startsWith('#!')) return undefined
  const interpreter = (text.slice(2).split('\n')[0] ?? '').trim().replace(/\s+/g, ' ')
  if (INTERPRETERS.includes(interpreter)) return undefined
  return `the interpreter ${interpreter} is not one of ${INTERPRETERS.join(', ')}`
}

function beginningOf(path: string): string {
  const fd = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(FIRST_LINE)
    return bytes.subarray(0, readSync(fd, bytes)).toString('latin1')
  } finally {
    closeSync(fd)
  }
}

/** Kills processes left by a previous agent and removes their files: the outcome of their step is unknown, but they end. */
export function endLeftScripts(dir: NodeDir): number {
  const scripts = scriptsDir(dir)
  const left = processesMarked(MARK).filter((p) => p.mark === scripts.state)
  for (const { pid } of left)
    try {
      kill(pid, 'SIGKILL')
    } catch {
      // It exited by itself.
    }
  // Earlier agents unpacked into components.
  for (const folder of [runsFolder(scripts), join(scripts.state, 'components')])
    rmSync(folder, { recursive: true, force: true })
  return left.length
}
