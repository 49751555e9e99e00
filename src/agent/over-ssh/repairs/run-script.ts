// Runs a signed repair script on a host without an agent: downloaded and verified again for each run, started from its own folder there, deleted afterwards.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { parseDuration } from '#lib/duration.ts'
import { type Channel, quoted } from '#ssh/channel.ts'
import { stage, type StageDeps } from '../../components/stage.ts'
import { frozenFile, slotFolder } from '../../node-dir.ts'
import type { JobOperation } from '../../repair/plan.ts'
import { MAX_DATA_BYTES, MAX_FILES } from '../../repair/run-program.ts'
import {
  DEFAULT_TIMEOUT,
  FIRST_LINE,
  interpreterRefusal,
  programOf,
  runsFolder,
  scriptsDir,
} from '../../repair/run-script.ts'
import type { StepResult } from '../../repair/steps.ts'
import { programOverSsh } from '../programs.ts'

export interface ScriptOverSshDeps extends StageDeps {
  readonly channel: Pick<Channel, 'ask'>
  readonly environment: Readonly<Record<string, string>>
}

/** A visit has so much time for it. */
const MOST_SCRIPT_MS = 15 * 60_000
const READ_MS = 10_000

const failed = (output: string): StepResult => ({ outcome: 'Failed', output })

export async function runScriptOverSsh(
  deps: ScriptOverSshDeps,
  { component, version, args = [] }: NonNullable<JobOperation['runScript']>,
  signal: AbortSignal,
): Promise<StepResult> {
  const { channel, files, environment } = deps
  const downloads = scriptsDir(deps.dir)
  const dir = { ...downloads, state: join(runsFolder(downloads), `run-${randomBytes(8).toString('hex')}`) }
  await files.makeFolder(dir.state, 0o700)
  try {
    const { slot, spec } = await stage({ ...deps, dir, downloads }, { name: component, version }, signal)
    const found = programOf(spec, slotFolder(dir, component, slot.id))
    if (typeof found === 'string') return failed(found)
    const timeoutMs = parseDuration(spec.script?.timeout ?? DEFAULT_TIMEOUT)
    if (timeoutMs > MOST_SCRIPT_MS) return failed('it may take longer than 15m, which only an agent waits for')
    const refusal = interpreterRefusal(await beginningOf(channel, found.program))
    if (refusal !== undefined) return failed(refusal)
    signal.throwIfAborted()
    const limits = ['/usr/bin/prlimit', `--data=${MAX_DATA_BYTES}`, `--nofile=${MAX_FILES}`, '--core=0', '--']
    const end = await programOverSsh(
      { channel, dir: deps.dir, environment, folder: found.folder, isAlone: { until: frozenFile(deps.dir) } },
      [...limits, found.program, ...found.args, ...args],
      timeoutMs,
    )
    return end.problem === undefined
      ? { outcome: 'Succeeded', output: end.output }
      : failed(`${end.output}\n${end.problem}`.trim())
  } finally {
    await files.remove(dir.state)
  }
}

async function beginningOf(channel: Pick<Channel, 'ask'>, path: string): Promise<string> {
  const { code, stdout, stderr } = await channel.ask({
    snippet: `head -c ${FIRST_LINE} -- ${quoted(path)}`,
    deadlineMs: READ_MS,
    maxBytes: FIRST_LINE,
  })
  if (code !== 0) throw new Error(`cannot read ${path}: ${stderr || `code ${code}`}`)
  return stdout.toString('latin1')
}
