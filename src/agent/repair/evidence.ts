// Saves evidence that a repair may destroy: small text files below the agent's state, each bounded in size and time, without secrets from a process's environment.
import { readFileSync, readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'
import type { Clock } from '#lib/clock.ts'
import { printableLine } from '#lib/printable.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { EVIDENCE } from '#api/kinds/operations.ts'
import { ENVIRONMENT } from '../detect/npd/service-state.ts'
import { writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { componentsFolder, evidenceFolder, recordFile, type NodeDir } from '../node-dir.ts'
import { gpuBuses, PARTS_ARGUMENTS, type PlacedDevice, placedDevices, PLACES_ARGUMENTS } from '../placed-devices.ts'
import { heldDevices, POD_RESOURCES_SOCKET } from '../devices-of-pods.ts'
import { programOutput } from '../program-output.ts'
import type { StepResult } from './steps.ts'

type Kind = (typeof EVIDENCE)[number]

export interface EvidenceDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  /** Folder with journalctl and dmesg; default: the host's PATH. */
  readonly programs?: string
  /** Socket of the kubelet's PodResources service; default: the host's. */
  readonly podResources?: string
}

/** Limit per kind; longer texts keep their end, and the first line shows how much was cut. */
export const MAX_BYTES = 2 ** 20
const MAX_LOG_BYTES = 65_536
const MAX_PROCESSES = 5_000
/** An overloaded node answers slowly; one kind of evidence must not delay the repair forever. */
const CALL_MS = 5_000
const KIND_MS = 20_000
/** Number of jobs whose evidence is kept; the oldest is removed first. */
const MAX_JOBS = 20
export const JOURNAL_LINES = 500
/** Of a text that the result of the step shows itself. */
const MAX_SAID = 1_024

export async function collectEvidence(
  deps: EvidenceDeps,
  kinds: readonly Kind[],
  job: string,
  signal: AbortSignal,
): Promise<StepResult> {
  const { files, dir } = deps
  const folder = evidenceFolder(dir, job)
  const lines: string[] = []
  let held: readonly PlacedDevice[] | undefined
  for (const kind of kinds) {
    signal.throwIfAborted()
    try {
      const gathered = await inTime(deps.clock, gather(deps, kind))
      const { text, cutBytes } = bounded(gathered)
      held ??= gathered.devices
      const path = join(folder, `${kind.toLowerCase()}.txt`)
      await writeDurably(files, path, text)
      const bytes = Buffer.byteLength(text)
      const said = kind === 'Devices' ? `: ${text.slice(0, MAX_SAID).trimEnd().replaceAll('\n', '; ')}` : ''
      lines.push(
        `${kind}: ${path} (${bytes} bytes${cutBytes === 0 ? '' : `; the first ${cutBytes} bytes omitted`})${said}`,
      )
    } catch (e) {
      lines.push(`${kind}: not collected: ${messageOf(e)}`)
    }
  }
  await dropOldEvidence(files, dir)
  return { outcome: 'Succeeded', output: lines.join('\n'), ...defined({ devices: held }) }
}

async function inTime<T>(clock: Clock, text: Promise<T>): Promise<T> {
  const late = new AbortController()
  const timeout = clock.sleep(KIND_MS, late.signal).then(() => {
    throw new Error(`timed out after ${KIND_MS} ms`)
  })
  try {
    return await Promise.race([text, timeout])
  } finally {
    timeout.catch(() => undefined)
    late.abort(new Error('finished'))
  }
}

function bounded({ text, cutBytes = 0 }: Gathered): { readonly text: string; readonly cutBytes: number } {
  const bytes = Buffer.from(text)
  const cut = cutBytes + Math.max(0, bytes.length - MAX_BYTES)
  const kept = bytes.subarray(-MAX_BYTES).toString('utf8')
  return cut === 0 ? { text, cutBytes: 0 } : { text: `[the first ${cut} bytes were cut]\n${kept}`, cutBytes: cut }
}

interface Gathered {
  readonly text: string
  readonly cutBytes?: number
  readonly devices?: readonly PlacedDevice[]
}

async function gather(deps: EvidenceDeps, kind: Kind): Promise<Gathered> {
  if (kind === 'Journal') return journal(deps)
  if (kind === 'KernelLog') return kernelLog(deps)
  if (kind === 'Devices') return devices(deps)
  return { text: await evidenceText(deps, kind) }
}

/** From journalctl or dmesg where the node is a host and has them; otherwise from the syslog file. */
async function outputOrFile(
  { files, dir, programs }: EvidenceDeps,
  calls: readonly (readonly [program: string, ...args: string[]])[],
  file: string,
): Promise<Gathered> {
  const problems: string[] = []
  for (const [program, ...args] of dir.root === '/' || programs !== undefined ? calls : []) {
    const path = programs === undefined ? program : join(programs, program)
    const options = { timeoutMs: KIND_MS, maxBytes: MAX_BYTES, environment: ENVIRONMENT }
    const { problem, stdout, stderr } = await programOutput({ program: path, args, ...options })
    if (problem === undefined) return stdout
    problems.push(`${program}: ${problem}${stderr.text === '' ? '' : `: ${stderr.text.trim()}`}\n`)
  }
  return { text: `${problems.join('')}${await tailOf(files, join(dir.root, file))}` }
}

const journal = (deps: EvidenceDeps): Promise<Gathered> =>
  outputOrFile(
    deps,
    [['journalctl', '--quiet', '--no-pager', '--output=short-iso', `--lines=${JOURNAL_LINES}`]],
    'var/log/syslog',
  )

const kernelLog = (deps: EvidenceDeps): Promise<Gathered> =>
  outputOrFile(deps, [['dmesg', '--kernel', '--color=never', '--since=-1h'], ['dmesg']], 'var/log/kern.log')

async function evidenceText(
  { files, dir }: EvidenceDeps,
  kind: Exclude<Kind, 'Journal' | 'KernelLog' | 'Devices'>,
): Promise<string> {
  switch (kind) {
    case 'Components':
      return components(files, dir)
    case 'Processes':
      return processes()
    case 'Disks': {
      const { bavail, blocks, bsize, ffree, files: inodes } = statfsSync(dir.root)
      const free = `free ${bavail * bsize} of ${blocks * bsize} bytes, ${ffree} of ${inodes} inodes\n`
      return free + readFileSync('/proc/mounts', 'utf8') + readFileSync('/proc/diskstats', 'utf8')
    }
    case 'Network':
      return ['dev', 'sockstat', 'snmp'].map((name) => readFileSync(`/proc/net/${name}`, 'utf8')).join('\n')
    default:
      return assertNever(kind)
  }
}

async function components(files: Files, dir: NodeDir): Promise<string> {
  const parts: string[] = []
  for (const component of await files.list(componentsFolder(dir))) {
    const record = (await files.read(recordFile(dir, component)))?.toString('utf8') ?? 'no record'
    parts.push(`== ${component}\n${record}\n${await tailOf(files, join(dir.logs, `${component}.log`))}`)
  }
  return parts.join('\n')
}

/** Names of pods and devices come from the cluster and from plugins: one printable line for each. */
async function devices({ dir, podResources = POD_RESOURCES_SOCKET, programs }: EvidenceDeps): Promise<Gathered> {
  // The kubelet's socket belongs to the machine; a node that is a folder on it has no kubelet of its own.
  if (dir.root !== '/' && podResources === POD_RESOURCES_SOCKET)
    throw new Error('the node is a folder of another machine')
  const held = await heldDevices(podResources, CALL_MS)
  if (typeof held === 'string') throw new Error(`cannot ask the kubelet which pods use devices: ${held}`)
  if (held.length === 0) return { text: 'no pod uses a device\n', devices: [] }
  const say = async (args: readonly string[]) => {
    const program = programs === undefined ? 'nvidia-smi' : join(programs, 'nvidia-smi')
    const call = { program, args, timeoutMs: CALL_MS, maxBytes: MAX_LOG_BYTES, environment: ENVIRONMENT }
    const { problem, stdout } = await programOutput(call)
    return problem === undefined ? stdout.text : ''
  }
  const isNvidia = held.some(({ device }) => /^(?:GPU|MIG)-/.test(device))
  const buses = isNvidia ? gpuBuses(await say(PLACES_ARGUMENTS), await say(PARTS_ARGUMENTS)) : new Map<string, string>()
  const placed = placedDevices(held, buses)
  const lines = (placed ?? held).map(
    ({ pod, resource, device, bus }: PlacedDevice) =>
      // Names of pods and devices come from the cluster and from plugins: one printable line for each.
      `${printableLine(`${pod} uses ${resource} ${device}${bus === undefined ? '' : ` at ${bus}`}`)}\n`,
  )
  return { text: lines.join(''), ...defined({ devices: placed }) }
}

async function tailOf(files: Files, path: string): Promise<string> {
  const bytes = await files.read(path)
  if (bytes === undefined) return `${path} is not there\n`
  const cut = Math.max(0, bytes.length - MAX_LOG_BYTES)
  const text = bytes.subarray(-MAX_LOG_BYTES).toString('utf8')
  return cut === 0 ? text : `[the first ${cut} bytes were cut]\n${text}`
}

/** Names and states, and where blocked processes wait in the kernel. No arguments and no environment, because they may contain secrets. */
function processes(): string {
  const pids = readdirSync('/proc').filter((p) => /^\d+$/.test(p))
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'latin1')
    } catch {
      return ''
    }
  }
  return pids
    .slice(0, MAX_PROCESSES)
    .map((pid) => {
      const stat = read(`/proc/${pid}/stat`)
      const isWaiting = stat.slice(stat.lastIndexOf(')') + 2).startsWith('D')
      return isWaiting ? `${stat}${read(`/proc/${pid}/stack`)}` : stat
    })
    .join('')
}

export async function dropOldEvidence(files: Files, dir: NodeDir): Promise<void> {
  const root = join(dir.state, 'evidence')
  const jobs = await Promise.all(
    (await files.list(root)).map(async (name) => ({ name, at: (await files.stat(join(root, name)))?.modifiedMs ?? 0 })),
  )
  const old = jobs.sort((a, b) => b.at - a.at).slice(MAX_JOBS)
  for (const { name } of old) await files.remove(join(root, name))
}
