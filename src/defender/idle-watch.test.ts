import { describe, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import type { FleetView } from './fleet.ts'
import type { Grant } from './ledger.ts'
import { IdleWatch } from './idle-watch.ts'

const source = {
  kind: machineType.kind,
  metadata: { name: 'm-1', uid: 'u' },
  spec: { channel: 'Agent' },
  status: { phase: 'Ready', conditions: [{ type: 'Ready', status: 'True' }] },
}
const fleet = {
  find: () => ({ kind: 'Found', unit: { name: 'm-1', health: 'Healthy', isSilent: false, source } }),
} as unknown as FleetView
const orphan = { target: 'u', permitUid: 'p', permit: 'p', name: 'm-1', state: 'Orphaned' } as unknown as Grant

function watched() {
  let now = 0
  let renewTime = 'first'
  let asked = 0
  const get = async (type: { readonly kind: string }) => {
    if (type.kind === machineType.kind) return source
    asked++
    return { spec: { renewTime } }
  }
  const watch = new IdleWatch({ get } as unknown as Pick<KubeClient, 'get'>, { monotonic: () => now })
  return {
    watch,
    check: async (ms: number) => {
      now += ms
      await watch.observe([orphan], fleet)
    },
    beat: () => {
      renewTime = 'second'
    },
    asked: () => asked,
  }
}

describe('an orphaned slot', () => {
  test('ends once its agent is heard again', async () => {
    const { watch, check, beat } = watched()
    await check(0)
    await check(2_000)
    expect(watch.isIdle(orphan)).toBe(false)
    beat()
    await check(2_000)
    expect(watch.isIdle(orphan)).toBe(true)
  })

  test('is asked about every two seconds, however many decisions are made in between', async () => {
    const { check, asked } = watched()
    for (let ms = 0; ms < 10_000; ms += 20) await check(20)
    expect(asked()).toBe(5)
  })
})
