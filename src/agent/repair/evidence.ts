// Keeps what a repair may destroy: small text files below the agent's state, each bounded in size and time, never a secret of a process's environment.
import { readFileSync, readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { EVIDENCE } from '#api/kinds/operations.ts'
import { outputOf } from '../detect/npd/service-state.ts'
import { writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { componentsFolder, evidenceFolder, recordFile, type NodeDir } from '../node-dir.ts'
import type { StepResult } from './steps.ts'

type Kind = (typeof EVIDENCE)[number]

export interface EvidenceDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
}

const MAX_BYTES = 2 ** 20
const MAX_LOG_BYTES = 65_536
const MAX_PROCESSES = 5_000
/** A node in trouble answers slowly; evidence of one kind must not keep the repair waiting for ever. */
const KIND_MS = 20_000
/** Jobs whose evidence is kept; the oldest goes first. */
const MAX_JOBS = 20
const JOURNAL_LINES = 500

export async function collectEvidence(
  deps: EvidenceDeps,
  kinds: readonly Kind[],
  job: string,
  signal: AbortSignal,
): Promise<StepResult> {
  const { files, dir } = deps
  const folder = evidenceFolder(dir, job)
  const lines: string[] = []
  for (const kind of kinds) {
    signal.throwIfAborted()
    try {
      const text = (await inTime(deps.clock, gather(deps, kind))).slice(-MAX_BYTES)
      const path = join(folder, `${kind.toLowerCase()}.txt`)
      await writeDurably(files, path, text)
      lines.push(`${kind}: ${path} (${text.length} characters)`)
    } catch (e) {
      lines.push(`${kind}: not to be had: ${messageOf(e)}`)
    }
  }
  await dropOld(files, dir)
  return { outcome: 'Succeeded', output: lines.join('\n') }
}

async function inTime(clock: Clock, text: Promise<string>): Promise<string> {
  const late = new AbortController()
  const timeout = clock.sleep(KIND_MS, late.signal).then(() => {
    throw new Error(`not within ${KIND_MS} ms`)
  })
  try {
    return await Promise.race([text, timeout])
  } finally {
    timeout.catch(() => undefined)
    late.abort(new Error('it came'))
  }
}

async function gather(deps: EvidenceDeps, kind: Kind): Promise<string> {
  const { files, dir } = deps
  const isHost = dir.root === '/'
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
    case 'KernelLog': {
      const kernel = isHost ? await outputOf('dmesg', ['--kernel', '--color=never', '--since=-1h'], KIND_MS) : undefined
      const all = kernel ?? (isHost ? await outputOf('dmesg', [], KIND_MS) : undefined)
      return all ?? tailOf(files, join(dir.root, 'var/log/kern.log'))
    }
    case 'Journal': {
      const args = ['--quiet', '--no-pager', '--output=short-iso', `--lines=${JOURNAL_LINES}`]
      return (
        (isHost ? await outputOf('journalctl', args, KIND_MS) : undefined) ??
        tailOf(files, join(dir.root, 'var/log/syslog'))
      )
    }
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

async function tailOf(files: Files, path: string): Promise<string> {
  const bytes = await files.read(path)
  return bytes === undefined ? `${path} is not there\n` : bytes.subarray(-MAX_LOG_BYTES).toString('utf8')
}

/** Names and states, and where the kernel holds those that wait; no arguments and no environment, which may hold secrets. */
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

async function dropOld(files: Files, dir: NodeDir): Promise<void> {
  const root = join(dir.state, 'evidence')
  const jobs = await Promise.all(
    (await files.list(root)).map(async (name) => ({ name, at: (await files.stat(join(root, name)))?.modifiedMs ?? 0 })),
  )
  const old = jobs.sort((a, b) => b.at - a.at).slice(MAX_JOBS)
  for (const { name } of old) await files.remove(join(root, name))
}
