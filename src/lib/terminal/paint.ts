// Colors for people: on a terminal, unless NO_COLOR or --color overrides it. Output has the same meaning without colors.
import type { Io } from './io.ts'

export const COLORS = ['auto', 'always', 'never'] as const

/** https://no-color.org; a dumb terminal would print the codes. */
export function hasColors({ color = 'auto', isTerminal, env }: Pick<Io, 'color' | 'isTerminal' | 'env'>): boolean {
  if (color !== 'auto') return color === 'always'
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

const CODES = { good: 32, bad: 31, warn: 33, dim: 2, strong: 1 } as const
export type Tone = keyof typeof CODES

const ENDS: Readonly<Record<Tone, number>> = { good: 39, bad: 39, warn: 39, dim: 22, strong: 22 }

export type Paint = (tone: Tone | undefined, text: string) => string

export const paintOf =
  (isColored: boolean): Paint =>
  (tone, text) =>
    isColored && tone !== undefined && text !== '' ? `\u001b[${CODES[tone]}m${text}\u001b[${ENDS[tone]}m` : text

const BAD =
  /^(Failed|NotReady|Lost|Denied|Revoked|Expired|Aborted|RolledBack|Degraded|Permanent|Stalled|Unreachable|Abandoned|Blocked)$/
const WARN =
  /^(Pending|Provisioning|Joining|Importing|Installing|Updating|Repairing|Draining|Deleting|Progressing|Waiting|Paused|Requested|AwaitingPermit|Verifying|Running|Unknown|Switching|Inspecting|Soaking|Leaving)$/
const GOOD = /^(Ready|Healthy|Succeeded|Granted|Passed|Active|Yes|Unchanged)$/

/** The color of a status word in a table column with this header. */
export function toneOf(head: string, word: string): Tone | undefined {
  if (head === 'READY' && word === 'False') return 'bad'
  if (head === 'READY' && word === 'True') return 'good'
  return BAD.test(word) ? 'bad' : WARN.test(word) ? 'warn' : GOOD.test(word) ? 'good' : undefined
}

/** The color of a whole explanation line, by how it starts. */
export function lineTone(line: string): Tone | undefined {
  const text = line.trimStart()
  if (/^(!|Blocked\b|.*: blocked\b|.* (is|:) (Failed|NotReady|Lost)\b|error:)/.test(text)) return 'bad'
  if (/^(Waiting\b|In progress\b|.*: (waiting|in progress)\b|warning:)/.test(text)) return 'warn'
  return /^Up to date\b/.test(line) ? 'good' : undefined
}
