import { describe, expect, test } from 'vitest'
import { type KeptNode, needOf } from './keeper.ts'

const node = (n: Partial<KeptNode>): KeptNode => ({
  state: 'Running',
  isAgentAlive: false,
  rebootRequested: false,
  crashes: { inARow: 0 },
  ...n,
})

describe('what a process node needs', () => {
  test.each<[string, Partial<KeptNode>, ReturnType<typeof needOf>]>([
    ['nothing while its agent lives', { isAgentAlive: true }, { kind: 'Nothing' }],
    [
      'its agent, which no program of ours has started yet',
      {},
      { kind: 'Start', crashes: { inARow: 0, startedAt: 100_000 } },
    ],
    ['to wait, right after a start', { crashes: { inARow: 0, startedAt: 99_800 } }, { kind: 'Wait', forMs: 300 }],
    [
      'its agent again',
      { crashes: { inARow: 0, startedAt: 99_000 } },
      { kind: 'Start', crashes: { inARow: 1, startedAt: 100_000 } },
    ],
    [
      'to wait longer after more crashes',
      { crashes: { inARow: 4, startedAt: 99_000 } },
      { kind: 'Wait', forMs: 7_000 },
    ],
    ['to wait half a minute at most', { crashes: { inARow: 40, startedAt: 100_000 } }, { kind: 'Wait', forMs: 30_000 }],
    [
      'no patience once it had lived well',
      { crashes: { inARow: 40, startedAt: 40_000 } },
      { kind: 'Start', crashes: { inARow: 1, startedAt: 100_000 } },
    ],
    ['a reboot that was asked for', { isAgentAlive: true, rebootRequested: true }, { kind: 'Reboot' }],
    ['the end of a reboot that was begun', { state: 'Rebooting' }, { kind: 'Reboot' }],
    ['the end of a deletion before all else', { state: 'Deleting', rebootRequested: true }, { kind: 'FinishDelete' }],
  ])('%s', (_, n, need) => {
    expect(needOf(node(n), 100_000)).toEqual(need)
  })
})
