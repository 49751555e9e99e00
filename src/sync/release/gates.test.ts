import { describe, expect, test } from 'vitest'
import type { Baseline, KnownFailure } from '#api/kinds/inventory.ts'
import { judgeGate, type Approver, type ClusterReadings, type Gate } from './gates.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const MINUTE = 60_000
const machine = (name: string, reason: 'NotReady' | 'Inconsistent'): KnownFailure => ({
  object: `Machine.kubenode.io/${name}`,
  uid: `u-${name}`,
  part: `machine/${name}`,
  state: 'Failed',
  reason,
})
const baseline = (...failing: readonly KnownFailure[]): Baseline => ({
  release: 'r',
  takenAt: '2026-01-31T11:55:00Z',
  failing: [...failing],
  blamed: [],
  changes: [],
})
const readings = (
  notReady: readonly string[],
  inconsistent: readonly string[] = [],
  skipped: readonly string[] = [],
): ClusterReadings => ({
  machines: { total: 5, notReady, inconsistent, skipped },
})
const judge = (gate: Omit<Gate, 'name' | 'timeout'>, seen: ClusterReadings, before?: Baseline) => {
  const facts = { now: NOW, approvedBy: [], baseline: before }
  const { holds, seen: text } = judgeGate({ name: 'g', timeout: '1h', ...gate }, seen, facts)
  return [holds, text]
}

const ALL_NAMES = ['m1', 'm2', 'm3', 'm4', 'm5']
const ALL = ALL_NAMES.map((name) => machine(name, 'NotReady'))
const ALL_IDS = ALL_NAMES.map((name) => `u-${name}`)

describe('gates compare with the state before the release', () => {
  const ready = { machinesReady: { minPercent: 98 } }
  const consistent = { componentsConsistent: { minPercent: 98 } }
  test.each<[string, ReturnType<typeof judge>, [boolean, string]]>([
    ['all are Ready', judge(ready, readings([])), [true, '5 of 5 machines are Ready, 98% are needed']],
    ['one is not', judge(ready, readings(['u-m1'])), [false, '4 of 5 machines are Ready, 98% are needed']],
    [
      'one was not before either',
      judge(ready, readings(['u-m1']), baseline(machine('m1', 'NotReady'))),
      [true, '4 of 4 machines are Ready, 98% are needed; 1 failed before the release and does not count'],
    ],
    [
      'another one is not',
      judge(ready, readings(['u-m1', 'u-m2']), baseline(machine('m1', 'NotReady'))),
      [false, '3 of 4 machines are Ready, 98% are needed; 1 failed before the release and does not count'],
    ],
    [
      'one that only had another version before',
      judge(ready, readings(['u-m1']), baseline(machine('m1', 'Inconsistent'))),
      [false, '4 of 5 machines are Ready, 98% are needed'],
    ],
    [
      'one that had another version before still has it',
      judge(consistent, readings([], ['u-m1']), baseline(machine('m1', 'Inconsistent'))),
      [true, '4 of 4 machines are consistent, 98% are needed; 1 failed before the release and does not count'],
    ],
    [
      'one is skipped, and failed before: it is left out once',
      judge(consistent, readings([], ['u-m1', 'u-m2'], ['u-m1']), baseline(machine('m1', 'NotReady'))),
      [false, '3 of 4 machines are consistent, 98% are needed; 1 failed before the release and does not count'],
    ],
    [
      'one that is skipped runs what is declared all the same',
      judge({ componentsConsistent: { minPercent: 100 } }, readings([], ['u-m2'], ['u-m1'])),
      [false, '4 of 5 machines are consistent, 100% are needed'],
    ],
    [
      'all failed before: nothing is left that proves anything',
      judge(ready, readings(['u-m1', 'u-m2', 'u-m3', 'u-m4', 'u-m5']), baseline(...ALL)),
      [false, 'no machine to judge by; 5 failed before the release and do not count'],
    ],
    [
      'all are skipped',
      judge(consistent, readings([], ALL_IDS, ALL_IDS)),
      [false, 'no machine to judge by; 5 failed before the release and do not count'],
    ],
    [
      'there are none',
      judge(ready, { machines: { total: 0, notReady: [], inconsistent: [], skipped: [] } }),
      [true, 'the cluster has no machines'],
    ],
    ['what cannot be read holds nothing', judge(ready, {}), [false, 'cannot read the machines']],
  ])('%s', (_, seen, wanted) => {
    expect(seen).toEqual(wanted)
  })

  const quiet = { noNewRepairs: { within: '15m' } }
  const repair = (name: string, minutesAgo: number): ClusterReadings => ({
    repairs: [{ at: NOW - minutesAgo * MINUTE, names: [name] }],
  })
  test.each<[string, ReturnType<typeof judge>, [boolean, string]]>([
    ['none', judge(quiet, { repairs: [] }), [true, 'no new repairs']],
    ['one since', judge(quiet, repair('n-1', 3), baseline()), [false, 'a repair of n-1 started 3m ago']],
    ['one before the release', judge(quiet, repair('n-1', 10), baseline()), [true, 'no new repairs']],
    ['one long ago', judge(quiet, repair('n-1', 20)), [true, 'no new repairs']],
    [
      'one when nothing is known of before',
      judge(quiet, repair('n-1', 10)),
      [false, 'a repair of n-1 started 10m ago'],
    ],
    [
      'one of a machine that failed before',
      judge(quiet, repair('m1', 3), baseline(machine('m1', 'NotReady'))),
      [true, 'no new repairs'],
    ],
    ['unreadable', judge(quiet, {}), [false, 'cannot read the repairs']],
  ])('repairs: %s', (_, seen, wanted) => {
    expect(seen).toEqual(wanted)
  })
})

describe('an approval', () => {
  const by = (name: string, ...groups: readonly string[]) => ({ by: name, groups })
  const gate = (count: number, ...from: readonly string[]): Gate => ({
    name: 'board',
    timeout: '1h',
    approval: { from, count },
  })
  test.each<[string, Gate, readonly Approver[], boolean]>([
    ['of a named person holds', gate(1, 'ada'), [by('ada')], true],
    ['of another person does not', gate(1, 'ada'), [by('bob')], false],
    ['of a member of the group holds', gate(1, 'group:sre'), [by('bob', 'sre')], true],
    ['of a member of another group does not', gate(1, 'group:sre'), [by('bob', 'board')], false],
    ['of a person called like the group does not', gate(1, 'group:sre'), [by('sre'), by('group:sre')], false],
    ['of a group called like the person does not', gate(1, 'ada'), [by('bob', 'ada')], false],
    ['given twice counts once', gate(2, 'group:sre', 'ada'), [by('ada', 'sre'), by('ada', 'sre')], false],
    ['of two people of one group counts twice', gate(2, 'group:sre'), [by('ada', 'sre'), by('bob', 'sre')], true],
  ])('%s', (_, asked, approvedBy, holds) => {
    expect(judgeGate(asked, undefined, { now: NOW, approvedBy }).holds).toBe(holds)
  })

  test('that is missing says who may give it', () => {
    const { seen } = judgeGate(gate(2, 'ada', 'group:sre'), undefined, { now: NOW, approvedBy: [by('ada')] })
    expect(seen).toBe('approved by 1 of 2 (ada, group sre)')
  })
})
