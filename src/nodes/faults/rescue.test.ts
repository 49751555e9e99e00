import type { Machine } from '#api/kinds/machine.ts'
import { expect, test } from 'vitest'
import { whyNoRescue } from './rescue.ts'

const KEY = { rescue: { secretRef: { name: 'rescue' } } }
const FINISHED = '2026-01-01T00:00:00Z'
const machineOf = (channel: string, ssh: object | undefined, join: object | undefined): Machine =>
  ({ metadata: { name: 'm' }, spec: { channel, ...(ssh && { ssh }) }, status: { ...(join && { join }) } }) as Machine

test.each<[string, Machine | undefined, string | undefined]>([
  ['a node without a Machine', undefined, 'the node belongs to no Machine'],
  ['no agent', machineOf('SSH', KEY, undefined), 'machine m has no agent to rescue (channel SSH)'],
  ['only observed', machineOf('Observe', KEY, undefined), 'machine m has no agent to rescue (channel Observe)'],
  ['joined by hand', machineOf('Agent', undefined, undefined), 'machine m has no rescue key (spec.ssh.rescue)'],
  ['no key declared', machineOf('Agent', {}, { finished: FINISHED }), 'machine m has no rescue key (spec.ssh.rescue)'],
  [
    'declared after the join',
    machineOf('Agent', KEY, { finished: FINISHED }),
    'machine m joined before it had a rescue key',
  ],
  ['written by the join', machineOf('Agent', KEY, { finished: FINISHED, rescue: true }), undefined],
  // The status was lost, or a person wrote the line: the host itself knows.
  ['no record of a join', machineOf('Agent', KEY, undefined), undefined],
])('%s', (_, machine, why) => expect(whyNoRescue(machine)).toBe(why))
