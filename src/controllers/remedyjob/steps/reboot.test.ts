// A restart through the provider goes to the host of exactly this Machine.
import type { Provider } from '#providers/port.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { expect, test } from 'vitest'
import type { JobStep, Seen } from '../seen.ts'
import { doStep } from './do-step.ts'
import type { JobTools } from './step-tools.ts'

async function rebooted(get: Provider['get'], operations: readonly string[] = ['Reboot']) {
  const orders: string[] = []
  const provider = {
    name: 'cloud',
    get,
    reboot: async (id: string) => {
      orders.push(id)
      return 'Ordered'
    },
  } as unknown as Provider
  const spec = { ...remedyOperationJob.example.spec, operations: [{ reboot: {} }] }
  const targets = [{ kind: 'Machine', name: 'n', uid: 'm-1' }]
  const verdicts = [{ target: 'm-1', gate: 'Ledger', verdict: 'Granted' }]
  const seen = {
    job: { metadata: { name: 'j', uid: 'j-1' }, spec: { ...spec, machine: 'n' } },
    isFresh: true,
    permit: { metadata: { name: 'j' }, spec: { operations, targets }, status: { phase: 'Granted', verdicts } },
    machine: {
      metadata: { name: 'n', uid: 'm-1' },
      spec: { provider: { name: 'cloud' }, providerID: 'cloud://h-1' },
    },
  } as unknown as Seen
  const tools = { providers: { cloud: provider } } as unknown as JobTools
  const step = { index: 0, operation: 'reboot' } as JobStep
  const went = await doStep(tools, step, seen, new AbortController().signal)
  return { orders, went: went.kind === 'Applied' ? went.object : went }
}

const host = (machineUid: string) => async () => ({ providerID: 'cloud://h-1', machineUid }) as never

test('its own host is restarted', async () => {
  expect(await rebooted(host('m-1'))).toEqual({
    orders: ['cloud://h-1'],
    went: { output: 'reboot requested from the provider' },
  })
})

test('one that the provider shows as the host of another Machine is not', async () => {
  expect(await rebooted(host('another'))).toEqual({
    orders: [],
    went: {
      outcome: 'Failed',
      output: 'the provider shows cloud://h-1 as the host of another Machine; check its tags',
    },
  })
})

test('and neither is one of which the provider does not tell', async () => {
  const { orders, went } = await rebooted(async () => Promise.reject(new Error('timed out')))
  expect(orders).toEqual([])
  expect(went).toEqual({ output: 'the provider did not respond: timed out' })
})

/** A job's status names its permit. A client that may write the status could name a permit granted for less. */
test('a permit for the restart of a component clears no reboot', async () => {
  expect(await rebooted(host('m-1'), ['RestartComponent', 'Drain'])).toEqual({
    orders: [],
    went: { kind: 'Outdated', reason: 'permit j allows no Reboot: not for operation Reboot' },
  })
})
