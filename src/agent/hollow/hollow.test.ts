import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { componentObjectName } from '#lib/names.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { Node } from '#nodes/objects.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { nodeType } from '../node/types.ts'
import type { HollowFaults } from './faults.ts'
import { noFaults } from './faults.ts'
import { HollowFleet } from './fleet.ts'

const BAD = '6.6.6'
const probe = { name: 'http', http: { port: 1, path: '/' }, interval: '10s', timeout: '1s', settle: '1s' }

const definition = (version: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponent',
  metadata: { name: componentObjectName('beacon', version) },
  spec: {
    component: 'beacon',
    version,
    type: 'Package',
    disruption: 'Restart',
    service: { exec: '/opt/beacon/beacon', restart: 'Always', killMode: 'Process' },
    probes: [probe],
  },
})

class Bench {
  readonly clock = new VirtualClock()
  readonly fake: FakeKube
  readonly fleet: HollowFleet
  readonly commits: string[] = []

  constructor(faults: Partial<HollowFaults> = {}, seed = 1) {
    const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
    const random = seededRandom(seed)
    this.fake = new FakeKube({ clock: this.clock, random: seededRandom(seed + 1), kinds, bookmarkEveryMs: 0 })
    this.fake.onCommit((c) =>
      this.commits.push(`${this.clock.monotonic()} ${c.type} ${c.kind}/${c.key} ${JSON.stringify(c.object)}`),
    )
    for (const v of ['1.0.0', '1.1.0', BAD]) this.fake.plant(machineComponent, definition(v))
    this.fleet = new HollowFleet({
      client: this.fake.client({ actor: 'hollow' }),
      clock: this.clock,
      random,
      log: silentLogger,
      version: '0.0.0',
      leaseMs: 10_000,
      faults: { ...noFaults, behavior: (_, __, v) => (v === BAD ? 'ProbeFails' : 'Works'), ...faults },
    })
    void this.fleet.run(new AbortController().signal)
  }

  async machine(name: string): Promise<void> {
    this.fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { channel: 'Agent', components: [{ name: 'beacon', version: '1.0.0', attempt: 1 }] },
    })
    this.fleet.add(name, 'boot-1')
    await this.clock.advance(10_000)
  }

  async order(name: string, version: string, attempt: number, permitPhase = 'Granted'): Promise<void> {
    const uid = this.fake.peek(machineType, { name })?.metadata.uid ?? ''
    const permit = `p-${name}-${attempt}`
    this.fake.plant(operationPermit, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationPermit',
      metadata: { name: permit },
      spec: {
        operations: ['SwitchComponent'],
        targets: [{ kind: 'Machine', name, uid }],
        requester: { manager: 'kubenode-componentset' },
        reason: 'a test',
      },
    })
    const verdicts = [{ target: uid, gate: 'Test', verdict: 'Granted' }]
    this.fake.poke(operationPermit, { name: permit }, { status: { phase: permitPhase, verdicts } }, 'status')
    const components = [{ name: 'beacon', version, attempt, switch: { attempt, permit } }]
    this.fake.poke(machineType, { name }, { spec: { components } })
    await this.clock.advance(30_000)
  }

  beacon(name: string): string {
    const { status } = this.fake.peek(machineType, { name }) as Machine
    const c = status?.components?.find((x) => x.name === 'beacon')
    return `${c?.version} ${c?.state}`
  }

  ready(name: string): string | undefined {
    const node: Node | undefined = this.fake.peek(nodeType, { name })
    return node?.status?.conditions?.find((c) => c.type === 'Ready')?.status
  }

  taint(name: string, taints: readonly object[]): void {
    this.fake.poke(nodeType, { name }, { spec: { taints } })
  }
}

describe('a hollow node', () => {
  test('registers itself, installs on a node that takes no pods yet, and switches under a granted permit', async () => {
    const bench = new Bench()
    await bench.machine('m')
    expect(bench.beacon('m')).toBe('1.0.0 Healthy')
    bench.taint('m', [])
    await bench.order('m', '1.1.0', 2)
    expect(bench.beacon('m')).toBe('1.1.0 Healthy')
  })

  test('says which versions were healthy on it: none that failed, and also after its agent died', async () => {
    const bench = new Bench()
    const known = () =>
      (bench.fake.peek(machineType, { name: 'm' }) as Machine).status?.components?.[0]?.healthyBefore?.map(
        (v) => v.version,
      )
    await bench.machine('m')
    bench.taint('m', [])
    await bench.order('m', '1.1.0', 2)
    expect(known()).toEqual(['1.0.0', '1.1.0'])
    await bench.order('m', BAD, 3)
    await bench.fleet.node('m')?.crash()
    expect(known()).toEqual(['1.0.0', '1.1.0'])
    await bench.order('m', '1.0.0', 4)
    expect(known()).toEqual(['1.1.0', '1.0.0'])
  })

  test('does not switch without a granted permit', async () => {
    const bench = new Bench()
    await bench.machine('m')
    bench.taint('m', [])
    await bench.order('m', '1.1.0', 2, 'Denied')
    expect(bench.beacon('m')).toBe('1.0.0 Staged')
  })

  test.each(['ProbeFails', 'Crashes'] as const)('goes back by itself from a version that %s', async (how) => {
    const bench = new Bench({ behavior: (_, __, v) => (v === BAD ? how : 'Works') })
    await bench.machine('m')
    bench.taint('m', [])
    await bench.order('m', BAD, 2)
    expect(bench.beacon('m')).toBe('1.0.0 RolledBack')
  })

  test('that is silent writes nothing, and catches up once it is heard again', async () => {
    const bench = new Bench()
    await bench.machine('m')
    bench.taint('m', [])
    bench.fleet.node('m')?.silence()
    const before = bench.commits.length
    await bench.order('m', '1.1.0', 2)
    await bench.clock.advance(60_000)
    expect(bench.commits.slice(before).filter((c) => c.includes('leases/') || c.includes('"state":"Staged"'))).toEqual(
      [],
    )
    bench.fleet.node('m')?.noteAnswer()
    await bench.clock.advance(30_000)
    expect(bench.beacon('m')).toBe('1.1.0 Healthy')
  })

  test('that reports again sets its Node Ready at once, although another program set it Unknown', async () => {
    const bench = new Bench()
    await bench.machine('m')
    bench.fleet.node('m')?.silence()
    await bench.clock.advance(60_000)
    const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: '' }
    bench.fake.poke(nodeType, { name: 'm' }, { status: { conditions: [unknown] } }, 'status')
    bench.fleet.node('m')?.noteAnswer()
    await bench.clock.advance(1_000)
    expect(bench.ready('m')).toBe('True')
  })

  test('that dies in the middle of a switch goes on from its journal', async () => {
    const bench = new Bench()
    await bench.machine('m')
    bench.taint('m', [])
    const turn = bench.order('m', '1.1.0', 2)
    await bench.clock.advance(300)
    expect(bench.fleet.node('m')?.records()[0]?.state).toBe('Probing')
    await bench.fleet.node('m')?.crash()
    await turn
    expect(bench.beacon('m')).toBe('1.1.0 Healthy')
  })

  test('is taken up by a new process as its Machine says it was', async () => {
    const bench = new Bench()
    await bench.machine('m')
    bench.taint('m', [])
    await bench.order('m', BAD, 2)
    const before = bench.fleet.node('m')?.records()[0]
    await bench.fleet.reboot('m', 'boot-2')
    await bench.clock.advance(10_000)
    expect(bench.beacon('m')).toBe('1.0.0 RolledBack')
    expect(bench.fleet.node('m')?.records()[0]?.pins).toEqual(before?.pins)
    expect((bench.fake.peek(machineType, { name: 'm' }) as Machine).status?.bootID).toBe('boot-2')
  })

  test('may lie about what it runs', async () => {
    const bench = new Bench({ report: (_, truth) => ({ ...truth, version: '9.9.9' }) })
    await bench.machine('m')
    expect(bench.beacon('m')).toBe('9.9.9 Healthy')
  })
})

describe('a hollow fleet', () => {
  const life = async (seed: number): Promise<readonly string[]> => {
    const bench = new Bench({ stageMs: (m) => 100 * m.length }, seed)
    for (const name of ['a', 'bb', 'ccc']) await bench.machine(name)
    for (const name of ['a', 'bb', 'ccc']) bench.taint(name, [])
    await bench.order('bb', '1.1.0', 2)
    await bench.fleet.node('a')?.crash()
    return bench.commits
  }

  test('O9 writes the same bytes for the same seed', async () => {
    expect(await life(7)).toEqual(await life(7))
  })
})
