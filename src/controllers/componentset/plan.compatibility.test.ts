// Requirements of components on each other and on the API server: before the first machine, and on each machine.
import { describe, expect, test } from 'vitest'
import { component, componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'

const specs = [
  component('kubelet', '1.34.0', { requires: [{ component: 'containerd', range: '<2.2' }] }),
  component('kubelet', '1.35.0', { requires: [{ component: 'containerd', range: '>=2.1' }] }),
  component('kubelet', '1.36.0', { requires: [{ component: 'containerd', range: '>=2.2' }] }),
  ...['2.0.0', '2.1.0', '2.2.0'].map((v) => component('containerd', v)),
]

const model = (versions: Readonly<Record<string, string>>, more: readonly ReturnType<typeof component>[] = []) =>
  new RolloutModel({
    machines: Array.from({ length: 6 }, (_, i) => workingMachine(`m-${i}`, { versions })),
    set: componentSet(versions, { maxUnavailable: 3 }),
    components: [...specs, ...more],
  })

describe('a set', () => {
  test('whose components need each other goes up in that order and back in the other', () => {
    const it = model({ containerd: '2.0.0', kubelet: '1.34.0' })
    it.settle()
    const mixes = new Set<string>()
    it.onPlan = (_, seen) => {
      for (const m of seen.machines)
        mixes.add(
          (m.status?.components ?? [])
            .map((c) => `${c.name} ${c.version}`)
            .toSorted()
            .join(', '),
        )
    }
    it.declare({ containerd: '2.1.0', kubelet: '1.35.0' })
    it.settle()
    expect(it.versions('kubelet')).toEqual({ '1.35.0': 6 })
    it.declare({ containerd: '2.0.0', kubelet: '1.34.0' })
    it.settle()
    expect(it.versions('containerd')).toEqual({ '2.0.0': 6 })
    expect(mixes).not.toContain('containerd 2.0.0, kubelet 1.35.0')
  })

  test('that nothing can bring from here to there says so and touches nothing', () => {
    const it = model({ containerd: '2.1.0', kubelet: '1.34.0' })
    it.settle()
    it.declare({ containerd: '2.2.0', kubelet: '1.36.0' })
    it.settle()
    expect(it.permits.size).toBe(0)
    expect(it.set.status?.waitingFor).toMatchObject({
      predicate: 'RequirementUnmet',
      seen: expect.stringContaining('kubelet 1.34.0, which is running, requires containerd <2.2'),
    })
  })

  const stalled = ({ set }: RolloutModel) => set.status?.conditions?.find((c) => c.type === 'Stalled')
  const skewed = component('kubelet', '1.36.1', { skew: { maxAheadOfApiServer: 0, maxBehindApiServer: 3 } })

  test.each([
    [
      'an impossible range',
      { containerd: '2.0.0', kubelet: '1.35.0' },
      [],
      'RequirementUnmet',
      'kubelet 1.35.0 needs containerd >=2.1, and 2.0.0 is declared; declare a version in that range',
    ],
    [
      'an undeclared requirement',
      { kubelet: '1.35.0' },
      [],
      'RequirementUnmet',
      'no set declares it for these machines',
    ],
    [
      'an unknown component',
      { containerd: '9.9.9' },
      [],
      'ComponentMissing',
      'MachineComponent containerd 9.9.9 not found',
    ],
    [
      'components in a circle',
      { a: '1.0.0', b: '1.0.0' },
      [
        component('a', '1.0.0', { requires: [{ component: 'b', range: '*' }] }),
        component('b', '1.0.0', { requires: [{ component: 'a', range: '*' }] }),
      ],
      'RequirementUnmet',
      'in a cycle: a → b → a',
    ],
    [
      'a version newer than the API server may have',
      { kubelet: '1.36.1' },
      [skewed],
      'SkewRefused',
      'the API server, which is v1.34.2',
    ],
    [
      'a version too old for the API server',
      { kubelet: '1.30.0' },
      [component('kubelet', '1.30.0', { skew: { maxAheadOfApiServer: 0, maxBehindApiServer: 3 } })],
      'SkewRefused',
      'the API server, which is v1.34.2',
    ],
    [
      'another major version',
      { kubelet: '2.34.0' },
      [component('kubelet', '2.34.0', { skew: { maxAheadOfApiServer: 9, maxBehindApiServer: 9 } })],
      'SkewRefused',
      'the API server, which is v1.34.2',
    ],
    [
      'a script',
      { tool: '1.0.0' },
      [component('tool', '1.0.0', { type: 'Script' })],
      'InvalidSpec',
      'only repairs run',
    ],
  ])('is stalled before the first machine by %s', (_, versions, more, reason, message) => {
    const it = model({ scribe: '1.0.0' }, [component('scribe', '1.0.0'), ...more])
    it.settle()
    it.declare(versions)
    it.settle()
    expect(stalled(it)).toMatchObject({ status: 'True', reason, message: expect.stringContaining(message) })
    expect(it.permits.size).toBe(0)
    expect(it.versions('scribe')).toEqual({ '1.0.0': 6 })
  })

  test('waits, and is not stalled, while the version of the API server is not known', () => {
    const it = model({ containerd: '2.0.0' }, [
      component('kubelet', '1.34.5', { skew: { maxAheadOfApiServer: 0, maxBehindApiServer: 3 } }),
    ])
    it.settle()
    Object.assign(it, { apiServer: undefined })
    it.declare({ containerd: '2.0.0', kubelet: '1.34.5' })
    it.settle()
    expect(it.set.status?.waitingFor?.predicate).toBe('SafetyReadingUnknown')
    expect(stalled(it)?.status).toBe('False')
    expect(it.permits.size).toBe(0)
    it.apiServer = 'v1.34.2-eks-9'
    it.settle()
    expect(it.versions('kubelet')).toEqual({ '1.34.5': 6 })
  })

  test('that matches nothing is stalled, with what to do', () => {
    const it = model({ containerd: '2.0.0' })
    it.set = { ...it.set, spec: { ...it.set.spec, selector: { matchLabels: { no: 'such' } } } }
    it.planTurn()
    // The same commit may declare the machines.
    expect(stalled(it)?.status).toBe('False')
    it.settle()
    expect(stalled(it)).toMatchObject({
      status: 'True',
      reason: 'NoMachines',
      message: expect.stringContaining('correct the selector'),
    })
  })
})

describe('a version that needs a kernel', () => {
  const kernels = (...of: readonly (string | undefined)[]) => {
    const it = new RolloutModel({
      machines: of.map((kernel, i) => {
        const m = workingMachine(`m-${i}`, { versions: { beacon: '1.0.0' } })
        return kernel === undefined ? m : { ...m, status: { ...m.status, platform: { kernel, arch: 'amd64' } } }
      }),
      set: componentSet({ beacon: '1.0.0' }, { maxUnavailable: 3 }),
      components: [component('beacon', '1.0.0'), component('beacon', '1.1.0', { needs: { kernel: '>=5.10' } })],
    })
    it.settle()
    it.declare({ beacon: '1.1.0' })
    it.settle()
    return it
  }

  test('goes to the machines that have it; the others are skipped with the reason, and nothing fails', () => {
    const it = kernels('6.1.0-25-amd64', '5.4.0-150-generic', '5.10.134-16.al8', undefined)
    expect(it.versions('beacon')).toEqual({ '1.0.0': 2, '1.1.0': 2 })
    expect(it.set.status?.skipped).toEqual([
      { machine: 'm-1', reason: 'beacon 1.1.0 requires Linux >=5.10, the node has 5.4.0-150-generic' },
      { machine: 'm-3', reason: 'beacon 1.1.0 requires Linux >=5.10, the node has not reported it' },
    ])
    expect(it.set.status?.phase).not.toBe('Blocked')
  })

  test('that no machine has is refused as a whole', () => {
    const it = kernels('5.4.0', '4.19.0')
    expect(it.permits.size).toBe(0)
    expect(it.set.status?.waitingFor).toMatchObject({
      predicate: 'RequirementUnmet',
      seen: 'no machine of the set can run a declared version (first: m-0: beacon 1.1.0 requires Linux >=5.10, the node has 5.4.0); declare a version that fits them',
    })
  })
})
