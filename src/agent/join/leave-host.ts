// `kubenode agent leave` on a host: shows what leaving does, or requests it from the agent and waits until it is done. Needs neither the API server nor
// a kubeconfig.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { geteuid, stderr, stdout } from 'node:process'
import { observeRemoval } from '../components/observe-removal.ts'
import type { RemovalPlan } from '../components/record.ts'
import { Journal } from '../components/journal.ts'
import { readSlot } from '../components/slot.ts'
import { realFiles } from '../files/real.ts'
import { AGENT_UNIT, leaveHost } from '../leave/leave-host.ts'
import {
  componentsFolder,
  identityFile,
  joinFile,
  leaveRequestFile,
  nodeDir,
  pairFile,
  tokenFile,
  type NodeDir,
} from '../node-dir.ts'
import { AGENT_COMPONENT } from '../self/switch-file.ts'
import { chooseProcesses, systemctlOf } from '../supervise/choose.ts'
import { agentErrors } from '../agent-errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { shownLine } from '#lib/printable.ts'
import { hostArguments } from './host-arguments.ts'

interface LeaveOptions {
  readonly root: string
  readonly isDryRun: boolean
}

/** Handing a component back takes seconds; the last report may wait for a server that is down. */
const WAIT_MS = 5 * 60_000
const POLL_MS = 500

const USAGE = 'usage: agent.mjs leave [--dry-run] [--root FOLDER]'

const OPTIONS = { 'dry-run': 'boolean', help: 'boolean', root: 'string' } as const

export async function leaveMain(args: readonly string[]): Promise<number> {
  const given = hostArguments(args, OPTIONS, 0)
  // Only the exact command hands a host back.
  if (given.kind === 'Wrong') {
    const error = new KubeNodeError(agentErrors.KN1002_leaveOption({ option: given.word, why: given.why }))
    stderr.write(`${shownLine(messageOf(error))}${USAGE}\n`)
    return 2
  }
  const { flags, values } = given
  if (flags.has('help')) {
    stdout.write(`${USAGE}\n`)
    return 0
  }
  const options: LeaveOptions = { root: values.root ?? '/var/lib/kubenode', isDryRun: flags.has('dry-run') }
  // The clock's timers do not keep the process alive.
  const awake = setInterval(() => undefined, 2 ** 30)
  try {
    return await leaveThisHost(options)
  } catch (e) {
    stderr.write(`${messageOf(e)}\n`)
    return 1
  } finally {
    clearInterval(awake)
  }
}

async function leaveThisHost({ root, isDryRun }: LeaveOptions): Promise<number> {
  const dir = nodeDir(root, '/')
  if (geteuid?.() !== 0) throw new KubeNodeError(agentErrors.KN8053())
  const managed = await realFiles.list(componentsFolder(dir))
  if (!hasCredential(dir) && managed.length === 0) return leaveUnjoined(dir, { root, isDryRun })
  for (const line of planLines(await plannedRemovals(dir), root)) stdout.write(shownLine(line))
  if (isDryRun) return 0
  writeFileSync(leaveRequestFile(dir), '{}\n', { mode: 0o600, flush: true })
  if (systemctlOf() === undefined) {
    stdout.write(shownLine('restart the agent: it leaves this host at its start'))
    return 0
  }
  execFileSync('systemctl', ['restart', AGENT_UNIT], { stdio: ['ignore', 'ignore', 'inherit'] })
  return untilRemoved(root)
}

const hasCredential = (dir: NodeDir): boolean => [pairFile(dir), tokenFile(dir)].some((path) => existsSync(path))

/** An agent that never joined has nothing to hand back, and cannot even start to do so. */
async function leaveUnjoined(dir: NodeDir, { root, isDryRun }: LeaveOptions): Promise<number> {
  const trace = [joinFile(dir), identityFile(dir)].find((path) => existsSync(path))
  if (trace === undefined) throw new KubeNodeError(agentErrors.KN1112_leave({ folder: root }))
  for (const line of planLines([], root)) stdout.write(shownLine(line))
  if (isDryRun) return 0
  await leaveHost({ files: realFiles, dir, log: silentLogger, systemctl: systemctlOf() })
  return untilRemoved(trace)
}

async function untilRemoved(path: string): Promise<number> {
  const until = systemClock.monotonic() + WAIT_MS
  while (existsSync(path)) {
    if (systemClock.monotonic() > until) throw new KubeNodeError(agentErrors.KN8073({ unit: AGENT_UNIT }))
    await systemClock.sleep(POLL_MS)
  }
  stdout.write(shownLine('the agent has left this host'))
  return 0
}

interface Planned {
  readonly component: string
  readonly version: string
  readonly plan: RemovalPlan
}

/** The same decision as the agent's, read from its folder and from systemd. */
async function plannedRemovals(dir: NodeDir): Promise<readonly Planned[]> {
  const base = { files: realFiles, dir, clock: systemClock, log: silentLogger }
  const processes = chooseProcesses({ ...base, binFolder: '/bin', environment: {}, bootId: '' }, systemctlOf())
  await processes.adopt()
  const planned: Planned[] = []
  try {
    for (const component of await realFiles.list(componentsFolder(dir))) {
      const journal = new Journal(base, component)
      await journal.load()
      const { current, onRemoval } = journal.record ?? {}
      const spec = current && (await readSlot(base, component, current.id))
      if (current === undefined || spec === undefined || component === AGENT_COMPONENT) continue
      const { id: slot, version } = current
      const options = { wanted: onRemoval, isObserved: false }
      planned.push({
        component,
        version,
        plan: await observeRemoval({ ...base, processes }, { component, slot, version, spec }, options),
      })
    }
  } finally {
    processes.close()
  }
  return planned
}

const WHAT: Readonly<Record<RemovalPlan['how'], string>> = {
  Restore: 'restored as it was before it was adopted',
  Keep: 'kept as it runs, as plain files and a unit of this host',
  Uninstall: 'stopped and uninstalled',
}

function planLines(planned: readonly Planned[], root: string): readonly string[] {
  const widest = Math.max(0, ...planned.map((p) => `${p.component} ${p.version}`.length))
  const lines = planned.map(({ component, version, plan: { how, restarts, message } }) => {
    const restart = how !== 'Uninstall' && restarts ? '; restarts' : ''
    return `${`${component} ${version}`.padEnd(widest)}   ${WHAT[how]}${restart}${message === undefined ? '' : ` (${message})`}`
  })
  return [...lines, `removed: the agent, its unit ${AGENT_UNIT}, its certificate and ${root}`]
}
