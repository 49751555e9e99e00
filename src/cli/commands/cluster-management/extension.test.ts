import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { lifetimeOf } from '#controllers/cluster/plan-lifetime.ts'
import { timestamp } from '#lib/clock.ts'
import { validate } from '#apiserver/schema/validate.ts'
import { extension, wantedEnd, type ExtensionReason } from './extension.ts'
import { defined } from '#lib/defined.ts'

const START = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000
const at = (hours: number) => timestamp(START + hours * HOUR)

const cluster = (ttl: string | undefined, more: object = {}): Cluster =>
  ({
    metadata: { namespace: 'fleet', name: 'pr-7', creationTimestamp: at(0), ...more },
    spec: { ...defined({ ttl }), deletionPolicy: 'Delete' },
  }) as unknown as Cluster
const policy = (maxTtl: string, name = 'short-lived') =>
  ({ metadata: { name }, spec: { clusters: { maxTtl } } }) as unknown as DefenderPolicy
const given = { reason: 'a demo', author: 'ada' }

interface Case {
  readonly of?: Cluster
  readonly words: ExtensionReason
  readonly hours: number
  readonly holds?: readonly OperationalHold[]
  readonly policies?: readonly DefenderPolicy[]
}
const extended = ({ of = cluster('4h'), words, hours, holds = [], policies = [] }: Case) => {
  const now = START + hours * HOUR
  return extension({ cluster: of, holds, policies }, wantedEnd(words, now), given, now)
}

describe('the new end', () => {
  test.each([
    ['is later than the present end by the duration', { words: { for: '2h' }, hours: 1 }, at(6)],
    ['counts from now once it is over', { words: { for: '2h' }, hours: 10 }, at(12)],
    ['is the time that was written', { words: { until: at(9) }, hours: 1 }, at(9)],
  ])('%s', (_, asked, until) => {
    const { hold, before } = extended(asked)
    expect(hold.spec).toEqual({
      target: { kind: 'Cluster', namespace: 'fleet', name: 'pr-7' },
      effect: 'Extend',
      ...given,
      until,
    })
    expect(before).toBe(at(4))
    expect(validate(operationalHold.schema, hold)).toEqual([])
  })

  test('is the end that the controller sees, also of a second extension on top of the first', () => {
    const first = extended({ words: { for: '2h' }, hours: 1 }).hold
    const made = { ...first, metadata: { ...first.metadata, creationTimestamp: at(1) } }
    const second = extended({ words: { for: '3h' }, hours: 5, holds: [made] }).hold
    expect(second.spec.until).toBe(at(9))
    expect(second.metadata.name).not.toBe(first.metadata.name)
    const again = { ...second, metadata: { ...second.metadata, creationTimestamp: at(5) } }
    expect(lifetimeOf(cluster('4h'), [made, again], {}, START + 6 * HOUR)).toMatchObject({
      expiresAt: Date.parse(at(9)),
    })
  })

  test('asked for twice is one extension', () => {
    const name = () => extended({ words: { until: at(9) }, hours: 1 }).hold.metadata.name
    expect(name()).toBe(name())
  })

  test('of a name that is as long as Kubernetes permits fits into the name of a hold', () => {
    const { hold } = extended({ of: cluster('4h', { name: 'a'.repeat(253) }), words: { for: '1h' }, hours: 1 })
    expect(hold.metadata.name?.length).toBeLessThanOrEqual(253)
  })
})

describe('refused is', () => {
  test.each<[string, Case, RegExp]>([
    ['a cluster without a time to live', { of: cluster(undefined), words: { for: '1h' }, hours: 1 }, /KN1690.*pr-7/],
    ['a duration that is none', { words: { for: 'long' }, hours: 1 }, /KN1002.*--for "long"/],
    ['a duration of nothing', { words: { for: '0s' }, hours: 1 }, /KN1002/],
    ['a duration of months', { words: { for: '90d' }, hours: 1 }, /KN1002/],
    ['a time that is none', { words: { until: 'tomorrow' }, hours: 1 }, /KN1002.*--until "tomorrow"/],
    ['a day that its month does not have', { words: { until: '2030-01-00T09:00:00Z' }, hours: 1 }, /KN1002/],
    ['one at the end of it', { of: cluster('4h'), words: { until: '2030-01-32T09:00:00Z' }, hours: 1 }, /KN1002/],
    ['a time that is over', { words: { until: at(0) }, hours: 1 }, /KN1002/],
    ['a duration and a time', { words: { for: '1h', until: at(9) }, hours: 1 }, /KN1002.*both/],
    ['neither of them', { words: {}, hours: 1 }, /KN1002.*neither/],
    ['an end before the present one', { words: { until: at(3) }, hours: 1 }, /KN1002.*expires at 2030-01-01T04:00:00/],
    [
      'more than a policy allows at once',
      { words: { for: '4h' }, hours: 1, policies: [policy('6h'), policy('10h', 'wider')] },
      /KN1693.*2030-01-01T08:00.*policy short-lived allows at most 6h.*--until 2030-01-01T07:00/,
    ],
    [
      'a cluster that is being deleted',
      { of: cluster('4h', { deletionTimestamp: at(1) }), words: { for: '1h' }, hours: 1 },
      /KN1690/,
    ],
  ])('%s', (_, asked, message) => expect(() => extended(asked)).toThrow(message))

  test('nothing within what a policy allows', () => {
    const { hold } = extended({ words: { for: '1h' }, hours: 1, policies: [policy('6h')] })
    expect(hold.spec.until).toBe(at(5))
  })
})
