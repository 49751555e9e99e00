// What each reason means for which the remedy controller creates no job, and the command that unblocks it. Pure.
import type { Reason } from '#api/catalogue.ts'
import { type Cause, heldBy, massFault, patch } from './blocker.ts'
import type { RepairsSeen, RuleSeen } from './observe.ts'

type Row = (reason: {
  readonly rule: RuleSeen
  readonly text: string
  readonly by: string | undefined
  readonly seen: RepairsSeen
}) => Cause

const patchRule = ({ remedier }: RuleSeen, spec: object): string =>
  patch('noderemediers', remedier.metadata.name ?? '', spec)
const retry = (node: string): string => `kubenode repair node/${node} --reason "checked by hand"`

/** Doubling is enough to continue, and still careful. */
const doubled = (n: number): number => 2 * n

const limit =
  (field: 'perHour' | 'perDay', id: string): Row =>
  ({ rule, text }) => ({
    id,
    text: `${text}; it continues by itself when the first is long enough ago`,
    command: patchRule(rule, { limits: { [field]: doubled(rule.remedier.spec.limits[field]) } }),
    isDeclared: true,
  })

/** Reasons for which the remedy controller creates no job. */
export const OF_RULES: Partial<Readonly<Record<Reason, Row>>> = {
  ShadowOnly: ({ rule, text }) =>
    rule.remedier.spec.mode === 'Shadow'
      ? { id: 'Shadow', text, command: patchRule(rule, { mode: 'Enforce' }), isDeclared: true }
      : { id: 'Share', text, command: patchRule(rule, { share: 100 }), isDeclared: true },
  DryRunOnly: ({ rule, text }) => ({
    id: 'DryRun',
    text,
    command: patchRule(rule, { mode: 'Enforce' }),
    isDeclared: true,
  }),
  ObservedOnly: ({ text, seen }) => ({
    id: 'Observed',
    text,
    command: patch('machines', seen.machine ?? seen.node, { channel: 'Agent' }),
    isDeclared: true,
  }),
  HoldPause: ({ text, by, seen }) => heldBy(by, text, seen),
  HoldAbort: ({ text, seen }) => ({ id: 'Aborted', text, command: retry(seen.node) }),
  LadderExhausted: ({ text, seen }) => ({ id: 'LadderExhausted', text, command: retry(seen.node) }),
  Cooldown: ({ text, seen }) => ({ id: 'Cooldown', text, command: retry(seen.node) }),
  PerNodeLimit: ({ text, seen }) => ({ id: 'PerNodeLimit', text, command: retry(seen.node) }),
  HourlyLimit: limit('perHour', 'HourlyLimit'),
  DailyLimit: limit('perDay', 'DailyLimit'),
  InFlightLimit: ({ rule, text }) => ({
    id: 'InFlightLimit',
    text: `${text}; it continues when one of them ends`,
    command: patchRule(rule, { limits: { maxInFlight: more(rule.remedier.spec.limits.maxInFlight) } }),
    isDeclared: true,
  }),
  WaitingForOther: ({ rule, text, by }) =>
    by === undefined
      ? { id: 'HoldDown', text, command: patchRule(rule, { for: '0s' }), isDeclared: true }
      : {
          id: 'HigherRule',
          text,
          command: patchRule(rule, { priority: 1_000 }),
          isDeclared: true,
        },
  CohortBlamed: ({ text }) => massFault(text),
  NotYetObserved: ({ text }) => ({ id: 'MassSilence', text: `${text}; it continues when they report` }),
  ZoneOutage: ({ text }) => ({ id: 'MassSilence', text: `${text}; it continues when they report again` }),
  MaintenanceUnderWay: ({ text }) => ({ id: 'Maintenance', text: `${text}; repairs continue when it ends` }),
  JobRunning: ({ text }) => ({ id: 'OtherJob', text: `${text}; it is this rule's turn after it` }),
}

const more = (max: number | string): number | string =>
  typeof max === 'number' ? doubled(max) : `${Math.min(100, doubled(Number.parseInt(max, 10)))}%`
