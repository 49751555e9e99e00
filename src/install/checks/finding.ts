// What one check found, and how it is shown.
import { numbered, type ErrorMessage } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'

export type Verdict = 'Passed' | 'Failed' | 'Warning'

export interface Finding {
  /** Its name, for --ignore. */
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
/** A numbered problem with which KubeNode works all the same. */
export const doubtful = withError('Warning')

const SIGN: Readonly<Record<Verdict, string>> = { Passed: '✔', Failed: '✗', Warning: '!' }

export const lineOf = ({ check, verdict, text }: Finding): string =>
  [SIGN[verdict], `${check}: ${printableLine(text)}`].join(' ')

/** With these everything would be lost or replaced that belongs to others. */
const NEVER_IGNORED: ReadonlySet<string> = new Set(['definitions', 'versions', 'rights', 'elsewhere'])

export const mayIgnore = (check: string): boolean => !NEVER_IGNORED.has(check)

export const withIgnored = (findings: readonly Finding[], ignored: ReadonlySet<string>): readonly Finding[] =>
  findings.map((f) =>
    f.verdict === 'Failed' && ignored.has(f.check) && mayIgnore(f.check) ? { ...f, verdict: 'Warning' } : f,
  )

export const failures = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter((f) => f.verdict === 'Failed')
