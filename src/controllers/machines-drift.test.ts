import { machine as machineType } from '#api/kinds/machine.ts'
import { FRESH_COPY_WINDOW_MS, MOST_FRESH_COPIES } from '#api/protocol/fresh-copy.ts'
import { timestamp } from '#lib/clock.ts'
import {
  type TestWorld,
  beat,
  endWorlds,
  machineWorld,
  readyMachine,
  report,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'

afterEach(endWorlds)

const condition = (w: TestWorld, name: string, type: string) => {
  const { status, reason, message } = w.machine(name)?.status?.conditions?.find((c) => c.type === type) ?? {}
  return [status, reason, message]
}

describe('a machine whose agent reports', () => {
  test('a changed component is inconsistent for as long as it does, and nothing of it is ordered without a slice', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    expect(condition(w, name, 'ComponentsConsistent')).toEqual([
      'True',
      'AsDeclared',
      'files and processes match the installed components',
    ])
    const before = w.machine(name)?.spec.components
    report(w, name, 'Healthy', { drifted: 'its program was replaced' })
    await w.clock.advance(1_000)
    expect(condition(w, name, 'ComponentsConsistent')).toEqual([
      'False',
      'FileChanged',
      'beacon: its program was replaced',
    ])
    expect(w.machine(name)?.spec.components).toEqual(before)
    expect(w.machine(name)?.status?.phase).toBe('Ready')
    report(w, name, 'Healthy')
    await w.clock.advance(1_000)
    expect(condition(w, name, 'ComponentsConsistent')[0]).toBe('True')
  })

  test('files of another owner is inconsistent too, and says where they are', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    w.fake.poke(machineType, { name }, { status: { foreignFiles: ['/usr/bin/beacon', '/usr/bin/b'] } }, 'status')
    await w.clock.advance(1_000)
    expect(condition(w, name, 'ComponentsConsistent')).toEqual([
      'False',
      'FileChanged',
      'files not managed by KubeNode: /usr/bin/beacon and 1 more',
    ])
  })

  test('the same after enough fresh copies is stalled until a day is over', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const [entry] = w.machine(name)?.spec.components ?? []
    const slice = timestamp(w.clock.now())
    w.fake.poke(machineType, { name }, { spec: { components: [{ ...entry, fresh: MOST_FRESH_COPIES, slice }] } })
    report(w, name, 'Healthy', { drifted: 'its program was replaced' })
    await w.clock.advance(1_000)
    expect(condition(w, name, 'Stalled')).toEqual([
      'True',
      'DriftPersists',
      'beacon is changed again after 3 fresh copies: its program was replaced; find who does it on the node',
    ])
    await w.clock.advance(FRESH_COPY_WINDOW_MS)
    beat(w, name)
    await w.clock.advance(5_000)
    expect(condition(w, name, 'Stalled')[0]).toBe('False')
  })
})
