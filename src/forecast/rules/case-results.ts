// Runs rule cases and reports each unexpected result in one line. Pure.
import type { RuleCase } from '#api/rule-case.ts'
import { someOf } from '#lib/some-of.ts'
import { CASE_VERDICTS, explainCase, undecidedIn } from '#policy/rule-cases.ts'
import type { RuleFile } from './rule-files.ts'

export interface CaseResult {
  readonly rule: string
  /** Empty if the rule cannot be evaluated at all. */
  readonly case: string
  readonly ok: boolean
  /** The problem; empty if there is none. */
  readonly why: string
}

const WANTED: Readonly<Record<RuleCase['verdict'], string>> = {
  fires: 'fire',
  'does not fire': 'not fire',
  unknown: 'be unknown',
}
const SEEN = {
  true: 'fires',
  false: 'does not',
  unknown: 'is unknown',
} as const

/** Values that the rule reads and the case leaves out or sets to Unknown. */
const lacking = (values: readonly string[]): string =>
  values.length === 0 ? '' : `: the case leaves out, or reports as Unknown, ${someOf(values, MAX_VALUES)}`
/** More are missing only if the case sets nothing. */
const MAX_VALUES = 5

export const caseResults = (files: readonly RuleFile[]): readonly CaseResult[] => files.flatMap(resultsOf)

function resultsOf({ name, cases, compiled, problems, caseProblems }: RuleFile): readonly CaseResult[] {
  if (compiled === undefined || cases.length === 0)
    return [
      {
        rule: name,
        case: '',
        ok: false,
        why: `cannot be tested: ${[...problems, ...caseProblems].join('; ') || 'it has no cases'}`,
      },
    ]
  return cases.map((one) => {
    const explained = explainCase(compiled, one)
    const { verdict } = explained
    const ok = verdict === CASE_VERDICTS[one.verdict]
    const why = ok
      ? ''
      : `it should ${WANTED[one.verdict]}, but it ${SEEN[verdict]}${verdict === 'unknown' ? lacking(undecidedIn(explained)) : ''}`
    return { rule: name, case: one.name, ok, why }
  })
}

export const resultLine = ({ rule, case: name, why }: CaseResult): string =>
  name === '' ? `${rule}: ${why}` : `${rule}: ${name}: ${why}`
