// Keeps what a repair may destroy: small text files below the agent's state, each bounded, never a secret of a component's environment.
import { readFileSync, readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { EVIDENCE } from '#api/kinds/operations.ts'
import { writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { componentsFolder, evidenceFolder, recordFile, type NodeDir } from '../node-dir.ts'
import type { StepResult } from './steps.ts'

type Kind = (typeof EVIDENCE)[number]

const MAX_BYTES = 2 ** 20
const MAX_LOG_BYTES = 65_536
const MAX_PROCESSES = 5_000
/** Jobs whose evidence is kept; the oldest goes first. */
const MAX_JOBS = 20

export async function collectEvidence(
  { files, dir }: { readonly files: Files; readonly dir: NodeDir },
  kinds: readonly Kind[],
  job: string,
): Promise<StepResult> {
  const folder = evidenceFolder(dir, job)
  const lines: string[] = []
  for (const kind of kinds) {
    try {
      const text = (await gather(files, dir, kind)).slice(-MAX_BYTES)
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

async function gather(files: Files, dir: NodeDir, kind: Kind): Promise<string> {
  switch (kind) {
    case 'Components':
      return components(files, dir)
    case 'Processes':
      return processes()
    case 'Disks': {
      const { bavail, blocks, bsize, ffree, files: inodes } = statfsSync(dir.root)
      const free = `free ${bavail * bsize} of ${blocks * bsize} bytes, ${ffree} of ${inodes} inodes\n`
      return free + readFileSync('/proc/mounts', 'utf8')
    }
    case 'Network':
      return readFileSync('/proc/net/dev', 'utf8') + readFileSync('/proc/net/sockstat', 'utf8')
    case 'KernelLog':
      return tailOf(files, join(dir.root, 'var/log/kern.log'))
    case 'Journal':
      return tailOf(files, join(dir.root, 'var/log/syslog'))
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

/** Names and states; no arguments and no environment, which may hold secrets. */
function processes(): string {
  const pids = readdirSync('/proc').filter((p) => /^\d+$/.test(p))
  return pids
    .slice(0, MAX_PROCESSES)
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/stat`, 'latin1')]
      } catch {
        return []
      }
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
