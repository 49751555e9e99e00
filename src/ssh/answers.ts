// Pure: what a script on a host answers, one JSON object a line. All of it is hostile input: lengths are bounded, and nothing in it controls a terminal.
import { isObject } from '#lib/json.ts'
import { visible } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import type { SshFailure } from './failures.ts'

/** All of an answer: scripts report a dozen facts. */
export const MAX_ANSWER_BYTES = 64 * 1024
/** A value is a version, a path or one line of an error. */
const MAX_VALUE_CHARS = 300
const MAX_FACTS = 64
const NAME = /^[a-z][a-zA-Z]{0,31}$/

/** What only the host can know. Everything else, such as a changed key, only ssh can tell. */
const OF_HOST = ['PreflightFailed', 'Full', 'Busy', 'TimedOut'] as const satisfies readonly SshFailure[]
type HostFailure = (typeof OF_HOST)[number]

export interface Answer {
  readonly facts: ReadonlyMap<string, string>
  readonly failed: { readonly failure: HostFailure; readonly why: string } | undefined
  /** The script ran to its end. */
  readonly isDone: boolean
}

/** Other lines are ignored: login scripts print greetings. */
export function answerIn(text: string): Answer {
  const facts = new Map<string, string>()
  let failed: Answer['failed']
  let isDone = false
  for (const line of text.split('\n')) {
    const report = parsed(line)
    if (report === undefined) continue
    if (report.kind === 'done') isDone = true
    else if (report.kind === 'fact' && NAME.test(report.name) && facts.size < MAX_FACTS)
      facts.set(report.name, report.value)
    else if (report.kind === 'failed') {
      const failure = OF_HOST.find((f) => f === report.name)
      if (failure !== undefined) failed ??= { failure, why: report.value }
    }
  }
  return { facts, failed, isDone }
}

interface Report {
  readonly kind: string
  readonly name: string
  readonly value: string
}

function parsed(line: string): Report | undefined {
  if (!line.startsWith('{"kubenode":')) return undefined
  let given: unknown
  try {
    given = JSON.parse(line)
  } catch {
    // Cut off, or not ours.
    return undefined
  }
  if (!isObject(given)) return undefined
  const { kubenode: kind, name = '', value = '' } = given
  if (typeof kind !== 'string' || typeof name !== 'string' || typeof value !== 'string') return undefined
  return { kind, name, value: oneLine(value) }
}

/** Also for what ssh itself prints, because servers write to it. */
export const oneLine = (text: string): string =>
  shortened(
    visible(text.slice(0, 4 * MAX_VALUE_CHARS))
      .replaceAll(/\s+/g, ' ')
      .trim(),
    MAX_VALUE_CHARS,
  )
