// A set and a canary that make requests at the same moment respect the set's limit together.
import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { aPermit, aPolicy, aSnapshot, machines } from '#test/support/fleets/defender-objects.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { decide } from '../plan.ts'
import { setLimitOf } from '../set-limits.ts'

type Share = number | `${number}%`

const requester = (kind: string, uid: string) => ({ manager: 'm', kind, name: uid, uid })
const asks = (name: string, by: 'MachineComponentSet' | 'ComponentCanary', targets: readonly string[]) =>
  aPermit({
    name,
    targets,
    operations: ['SwitchComponent'],
    component: { name: by === 'ComponentCanary' ? 'beacon' : 'scribe', version: '1.1.0' },
    requester: requester(by, by === 'ComponentCanary' ? 'canary' : 'set-base'),
  })

function granted(permits: readonly OperationPermit[], maxUnavailable: Share, selector: object = {}): readonly string[] {
  const set = componentSet({ beacon: '1.0.0', scribe: '1.0.0' }, { maxUnavailable }, { selector })
  const snapshot = aSnapshot({
    machines: machines(10),
    permits,
    policies: [aPolicy({ budgets: [{ max: 10, of: 'concurrent', per: 'cluster' }] })],
    setLimits: setLimitOf(set),
  })
  const { ledger } = decide(snapshot, undefined, { now: snapshot.wall, leader: 'a' })
  return (ledger?.grants ?? []).map((g) => `${g.permit} ${g.name}`)
}

const canary = asks('a-canary', 'ComponentCanary', ['m-0'])
const set = asks('b-set', 'MachineComponentSet', ['m-1', 'm-2', 'm-3'])

describe('a set and a canary that ask in the same moment', () => {
  test.each<[Share, readonly string[]]>([
    [1, ['a-canary m-0']],
    [2, ['a-canary m-0', 'b-set m-1']],
    ['30%', ['a-canary m-0', 'b-set m-1', 'b-set m-2']],
    [4, ['a-canary m-0', 'b-set m-1', 'b-set m-2', 'b-set m-3']],
  ])('with a limit of %s get so many machines together', (limit, wanted) =>
    expect(granted([canary, set], limit)).toEqual(wanted),
  )

  test('count a machine once that both of them switch', () =>
    expect(granted([canary, asks('b-set', 'MachineComponentSet', ['m-0'])], 1)).toEqual(['a-canary m-0', 'b-set m-0']))

  test('do not limit each other on machines of no common set', () =>
    expect(granted([canary, set], 1, { matchLabels: { pool: 'others' } })).toHaveLength(4))

  test('are each shaped by their own limits alone', () => {
    expect(granted([asks('a-canary', 'ComponentCanary', ['m-0', 'm-1'])], 1)).toHaveLength(2)
    expect(granted([set], 1)).toHaveLength(3)
  })
})
