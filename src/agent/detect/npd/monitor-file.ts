// Reads a monitor's file through the node's file system, bounded, and decides what a changed file means for the running monitor.
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { parseMonitorText, type MonitorConfig } from '#api/agent-config/monitor-config.ts'
import type { Files } from '../../files/port.ts'

export type MonitorText =
  | { readonly kind: 'Text'; readonly text: string }
  | { readonly kind: 'Missing' | 'Unreadable'; readonly problem: string }

export const MAX_FILE = 2 ** 20

export async function readMonitorText(files: Pick<Files, 'stream'>, path: string): Promise<MonitorText> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of files.stream(path)) {
      size += chunk.length
      if (size > MAX_FILE) return { kind: 'Unreadable', problem: `is larger than ${MAX_FILE} bytes` }
      chunks.push(chunk)
    }
  } catch (e) {
    const isMissing = isObject(e) && (e['code'] === 'ENOENT' || e['code'] === 'ENOTDIR')
    return { kind: isMissing ? 'Missing' : 'Unreadable', problem: messageOf(e) }
  }
  return { kind: 'Text', text: Buffer.concat(chunks).toString('utf8') }
}

export interface FileChange {
  /** What runs from now on. `Keep`: no change, the current monitor or nothing. */
  readonly run: MonitorConfig | 'Keep' | 'Nothing'
  readonly problems: readonly string[]
}

/**
 * Pure. An unusable file leaves its monitor running, because the file may be half written. A file missing twice in a row ends the monitor: the file was
 * removed.
 */
export function fileChange(found: MonitorText, before: MonitorText | undefined, isRunning: boolean): FileChange {
  const isMissingStill = found.kind === 'Missing' && before?.kind === 'Missing'
  if (isMissingStill && isRunning) return { run: 'Nothing', problems: [found.problem] }
  const { monitor, problems } =
    found.kind === 'Text' ? parseMonitorText(found.text) : { monitor: undefined, problems: [found.problem] }
  if (monitor !== undefined) return { run: monitor, problems }
  return {
    run: 'Keep',
    problems: isRunning ? problems.map((p) => `${p} (its last usable content is in use)`) : problems,
  }
}

export const isSameText = (a: MonitorText, b: MonitorText | undefined): boolean =>
  a.kind === 'Text' && b?.kind === 'Text' && a.text === b.text
