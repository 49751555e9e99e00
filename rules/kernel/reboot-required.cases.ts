// When the rule for reboots that packages ask for fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { rebootRequired } from './reboot-required.ts'

export const rule = rebootRequired

const asked = (lastTransitionTime: string) => ({ type: 'RebootRequired', status: 'True', lastTransitionTime }) as const

export const cases: readonly RuleCase[] = [
  { name: 'asked for an hour ago', conditions: [asked('2026-01-31T11:00:00Z')], verdict: 'fires' },
  {
    name: 'asked for a minute ago: packages are still being installed',
    conditions: [asked('2026-01-31T11:59:00Z')],
    verdict: 'does not fire',
  },
  {
    name: 'rebooted since',
    conditions: [{ type: 'RebootRequired', status: 'False', lastTransitionTime: '2026-01-31T11:00:00Z' }],
    verdict: 'does not fire',
  },
  { name: 'a node that never asked', verdict: 'unknown' },
]
