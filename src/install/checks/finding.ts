// The result of one check, and how to show it.
import { numbered, type ErrorMessage } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'

export type Verdict = 'Passed' | 'Failed' | 'Warning'

export interface Finding {
  /** The check's name, for --ignore. */
  readonly check: string
  readonly verdict: Verdict
  readonly text: string
  readonly code?: string
}

export const passed = (check: string, text: string): Finding => ({ check, verdict: 'Passed', text })
export const warned = (check: string, text: string): Finding => ({ check, verdict: 'Warning', text })

const withError =
  (verdict: Verdict) =>
  (check: string, message: ErrorMessage): Finding => ({ check, verdict, text: numbered(message), code: message.code })

export const failed = withError('Failed')
/** A numbered problem that KubeNode can work with. */
export const doubtful = withError('Warning')

const SIGN: Readonly<Record<Verdict, string>> = { Passed: '✔', Failed: '✗', Warning: '!' }

export const lineOf = ({ check, verdict, text }: Finding): string =>
  [SIGN[verdict], `${check}: ${printableLine(text)}`].join(' ')

/** Ignoring these would lose or replace objects that belong to others. */
const NEVER_IGNORED: ReadonlySet<string> = new Set(['definitions', 'versions', 'rights', 'elsewhere'])

export const mayIgnore = (check: string): boolean => !NEVER_IGNORED.has(check)

export const withIgnored = (findings: readonly Finding[], ignored: ReadonlySet<string>): readonly Finding[] =>
  findings.map((f) =>
    f.verdict === 'Failed' && ignored.has(f.check) && mayIgnore(f.check) ? { ...f, verdict: 'Warning' } : f,
  )

export const failures = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter((f) => f.verdict === 'Failed')
