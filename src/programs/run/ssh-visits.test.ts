import { agentErrors } from '#agent/agent-errors.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { type Channel, ChannelLost } from '#ssh/channel.ts'
import type { Conversation } from '#ssh/ssh-sessions.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { sshVisits } from './ssh-visits.ts'

const machine = { metadata: { name: 'm', uid: 'u', generation: 1 }, spec: {} } as unknown as Machine

/** A host that fails its first question. */
function visitOf(error: Error, closed?: string) {
  const ask = async (): Promise<never> => {
    throw error
  }
  const channel: Channel = { kind: 'Open', closed, close: () => undefined, ask }
  const { visit } = sshVisits({
    client: {} as KubeClient,
    clock: new VirtualClock(),
    random: seededRandom(1),
    log: silentLogger,
    sessions: { converse: async (_: Conversation, work) => work(channel) },
    join: { artifactBase: 'https://a.test', trust: { sequence: 1, threshold: 1, keys: [] } },
  })
  return visit({} as Conversation, machine, () => machine, new AbortController().signal)
}

test('a session that is lost, and a host that cannot be worked on, are findings; anything else is tried again', async () => {
  expect(await visitOf(new ChannelLost('cut'), 'cut')).toEqual({ kind: 'Failed', failure: 'Unreachable', why: 'cut' })
  const full = new KubeNodeError(agentErrors.KN8096({ what: 'list', path: '/a', why: 'no room' }))
  expect(await visitOf(full)).toMatchObject({ failure: 'PreflightFailed', why: expect.stringContaining('no room') })
  await expect(visitOf(new Error('the API server is away'))).rejects.toThrow('is away')
})
