// The gates of the fleet brake: stopped versions and rules, and whether this cluster has a turn.
import { describe, expect, test } from 'vitest'
import type { BrakeSpec, Stop } from '#api/kinds/fleet-brake.ts'
import type { GateContext, Question } from '../question.ts'
import { fleetStopGate, fleetTurnGate } from './fleet.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const ground = (brake: BrakeSpec | undefined): GateContext =>
  ({ snapshot: { brake, wall: NOW } }) as unknown as GateContext
const asks = (spec: object, isRecovery = false): Question => ({ permit: { spec }, isRecovery }) as unknown as Question
const slice = (version = '1.1.0', config = 'beacon-1') => ({
  operations: ['SwitchComponent'],
  requester: { kind: 'MachineComponentSet' },
  component: { name: 'beacon', version, config },
})
const repair = (rule?: string) => ({
  operations: ['Reboot'],
  requester: { kind: 'RemedyOperationJob', ...(rule === undefined ? {} : { part: `rule ${rule}` }) },
})
const stop = (more: Partial<Stop>): Stop => ({
  kind: 'Component',
  name: 'beacon',
  version: '1.1.0',
  since: '2026-01-31T11:00:00Z',
  seen: 'failed in 3 clusters (limit 3)',
  count: 3,
  ...more,
})
const stops = (spec: object, of: Partial<Stop>, isRecovery = false) =>
  fleetStopGate(asks(spec, isRecovery), ground({ stops: [stop(of)] })).map((v) => v.verdict)

describe('a stop', () => {
  const rule: Partial<Stop> = { kind: 'Rule', name: 'silent', version: '' }
  test.each<[string, object, Partial<Stop>, readonly string[]]>([
    ['of a version stops its slices', slice(), {}, ['Waiting']],
    ['of a version stops no other', slice('1.2.0'), {}, []],
    ['of one configuration stops that', slice(), { config: 'beacon-1' }, ['Waiting']],
    ['of one configuration stops no other', slice('1.1.0', 'beacon-2'), { config: 'beacon-1' }, []],
    ['of a version stops no repair', repair('silent'), {}, []],
    ['of a rule stops its repairs', repair('silent'), rule, ['Waiting']],
    ['of a rule stops no other', repair('oom'), rule, []],
    ['of a rule stops a repair whose rule is unknown', repair(), rule, ['Waiting']],
    ['of a rule stops no slice', slice(), rule, []],
    ['of everything stops a slice', slice(), { kind: 'Everything' }, ['Waiting']],
    ['of everything stops a repair', repair('oom'), { kind: 'Everything' }, ['Waiting']],
    ['that was lifted stops nothing', slice(), { liftedAt: '2026-01-31T11:30:00Z' }, []],
  ])('%s', (_, spec, of, verdicts) => expect(stops(spec, of)).toEqual(verdicts))

  test('lets returns to what was healthy pass', () => expect(stops(slice(), {}, true)).toEqual(['Granted']))

  test('says what was seen, and where it ends', () => {
    expect(fleetStopGate(asks(slice()), ground({ stops: [stop({})] }))[0]).toMatchObject({
      reason: 'FleetStopped',
      seen: 'beacon 1.1.0 failed in 3 clusters (limit 3)',
    })
  })
})

describe('a turn', () => {
  const until = (at: string): BrakeSpec => ({
    cluster: 'fleet/c-1',
    maxChanging: 2,
    turns: [{ cluster: 'fleet/c-1', since: '2026-01-31T11:55:00Z', until: at }],
  })
  const verdicts = (spec: object, brake: BrakeSpec | undefined, isRecovery = false) =>
    fleetTurnGate(asks(spec, isRecovery), ground(brake)).map((v) => v.verdict)

  test.each<[string, BrakeSpec | undefined, readonly string[]]>([
    ['is not needed without a brake', undefined, []],
    ['is not needed without a limit', { cluster: 'fleet/c-1' }, []],
    ['is not needed on the hub', { maxChanging: 2 }, []],
    ['opens slices until it ends', until('2026-01-31T12:00:01Z'), ['Granted']],
    ['opens nothing after its end: the hub may be away', until('2026-01-31T12:00:00Z'), ['Waiting']],
    ['is waited for where there is none', { cluster: 'fleet/c-1', maxChanging: 2 }, ['Waiting']],
  ])('%s', (_, brake, expected) => expect(verdicts(slice(), brake)).toEqual(expected))

  test('is not needed for repairs, nor for returns', () => {
    const brake: BrakeSpec = { cluster: 'fleet/c-1', maxChanging: 0 }
    expect(verdicts(repair('silent'), brake)).toEqual([])
    expect(verdicts(slice(), brake, true)).toEqual(['Granted'])
  })
})
