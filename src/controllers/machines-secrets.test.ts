import { KINDS } from '#api/kinds.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { type ComponentConfig, componentConfig } from '#api/kinds/component-config.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { newSealingKey, openSealed } from '#api/sealed.ts'
import { sealedKey, sealedObjectName } from '#api/sealed-names.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { loggerTo } from '#lib/log.ts'
import { nodeType } from '#nodes/objects.ts'
import {
  type TestWorld,
  beat,
  definition,
  endWorlds,
  machineWorld,
  register,
  report,
  setOf,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { canaryModule } from './canary/reconcile.ts'
import { componentSetModule } from './componentset/reconcile.ts'
import { controllerRevisionType } from './componentset/revisions/revisions.ts'
import { secretType } from '#nodes/objects.ts'
import { configMapType } from './machine/secrets/config-map.ts'

afterEach(endWorlds)

const MARKER = 'mark3r-S3cret'
const path = 'registry.password'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (value: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: SYSTEM_NAMESPACE, name: 'registry', labels: { [LABELS.forComponents]: 'true' } },
  type: 'Opaque',
  data: { password: base64(value) },
  ...more,
})
const secretKey = { namespace: SYSTEM_NAMESPACE, name: 'registry' }
const base = (name = 'registry') => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponentSet',
  metadata: { name: 'base' },
  spec: {
    selector: { matchLabels: { pool: 'workers' } },
    components: [
      {
        name: 'beacon',
        version: '1.0.0',
        values: { port: 1 },
        secretRefs: [{ path, secret: { name, key: 'password' } }],
      },
    ],
  },
})

const lines: string[] = []
const log = loggerTo((level, message, fields) => void lines.push(JSON.stringify({ level, message, fields })))
const key = newSealingKey()

async function world(start: { readonly secret?: object; readonly set?: object } = {}): Promise<TestWorld> {
  const w = await machineWorld({ modules: [componentSetModule, canaryModule], log })
  w.fake.plant(machineComponent, definition('1.0.0'))
  if (start.secret !== undefined) w.fake.plant(secretType, start.secret)
  w.fake.plant(machineComponentSet, start.set ?? base())
  w.fake.plant(machineSet, setOf(1))
  await w.clock.advance(2_000)
  return w
}
const machineOf = (w: TestWorld) => w.fake.all(machineType)[0]?.metadata.name ?? ''
const sealed = (w: TestWorld) => w.fake.all(configMapType)
const configs = (w: TestWorld) => w.fake.all(componentConfig) as readonly ComponentConfig[]
const set = (w: TestWorld) => w.fake.peek(machineComponentSet, { name: 'base' }) as MachineComponentSet
const publish = (w: TestWorld, publicKey = key.publicKey) =>
  w.fake.poke(machineType, { name: machineOf(w) }, { status: { agent: { version: '1', publicKey } } }, 'status')

async function joined(w: TestWorld): Promise<string> {
  const name = machineOf(w)
  beat(w, name)
  register(w, name)
  publish(w)
  await w.clock.advance(2_000)
  return name
}

/** As the machine's agent reads it. */
function opened(w: TestWorld, config: ComponentConfig | undefined, privateKey = key.privateKey): string | undefined {
  const [place] = config?.spec.secrets ?? []
  const name = sealedObjectName(place?.sealedIn ?? '', machineOf(w))
  const object = w.fake.peek(configMapType, { namespace: SYSTEM_NAMESPACE, name })
  const data = isObject(object?.['data']) ? object['data'] : {}
  const text = String(data[sealedKey(path)])
  const found = openSealed(privateKey, { machine: machineOf(w), component: 'beacon', path }, text)
  return found.kind === 'Opened' ? found.value : undefined
}

describe('a secret value of a set', () => {
  test('S16 reaches the agent of the machine sealed to its key, and stands readable in no object and no log line', async () => {
    const w = await world({ secret: secret(MARKER) })
    const name = await joined(w)
    const [config] = configs(w)
    expect(w.machine(name)?.spec.components?.[0]?.config).toBe(config?.metadata.name)
    expect(opened(w, config)).toBe(MARKER)
    expect(config?.spec.values).toEqual({ port: 1 })
    report(w, name, 'Healthy')
    await w.clock.advance(70_000)

    const types = [...KINDS, configMapType, controllerRevisionType, nodeType]
    const everything = JSON.stringify(types.map((t) => w.fake.all(t)))
    expect(everything).toContain('"v1.')
    const others = w.fake.all(secretType).filter((s) => s.metadata.name !== 'registry')
    for (const text of [everything, JSON.stringify(others), lines.join('\n')])
      for (const form of [MARKER, base64(MARKER), Buffer.from(MARKER).toString('hex')]) expect(text).not.toContain(form)
    expect(lines.length).toBeGreaterThan(5)
  })

  test('waits on a machine whose agent has published no key, and the machine says so', async () => {
    const w = await world({ secret: secret(MARKER) })
    const name = machineOf(w)
    beat(w, name)
    register(w, name)
    await w.clock.advance(2_000)
    expect(sealed(w)).toEqual([])
    expect(w.machine(name)?.status?.waitingFor).toMatchObject({
      predicate: 'ValuesSealed',
      seen: 'the agent has not published a key, and beacon has secret values',
    })
    publish(w, 'bm90IGEga2V5')
    await w.clock.advance(2_000)
    expect(sealed(w)).toEqual([])
    publish(w)
    await w.clock.advance(2_000)
    expect(sealed(w)).toHaveLength(1)
    expect(w.machine(name)?.status?.waitingFor?.predicate).toBe('ComponentsIn')
  })

  test('is sealed again when the agent publishes another key', async () => {
    const w = await world({ secret: secret(MARKER) })
    await joined(w)
    const other = newSealingKey()
    publish(w, other.publicKey)
    await w.clock.advance(2_000)
    expect(opened(w, configs(w)[0], other.privateKey)).toBe(MARKER)
  })

  test('that changes is another revision with another configuration, which working machines get in a slice', async () => {
    const w = await world({ secret: secret(MARKER) })
    const name = await joined(w)
    report(w, name, 'Healthy')
    await w.clock.advance(5_000)
    const [before] = configs(w)
    const was = set(w).status?.revisions?.current
    expect(was).toBeDefined()
    w.fake.poke(secretType, secretKey, { data: { password: base64('an0ther') } })
    await w.clock.advance(70_000)
    beat(w, name)
    await w.clock.advance(5_000)
    expect(set(w).status?.revisions?.update).not.toBe(was)
    expect(set(w).status?.slices).toMatchObject([{ component: 'beacon', machines: [name], phase: 'AwaitingPermit' }])
    const now = configs(w).find((c) => c.metadata.name !== before?.metadata.name)
    expect(w.machine(name)?.spec.components?.[0]).toMatchObject({ config: now?.metadata.name, attempt: 2 })
    expect(opened(w, now)).toBe('an0ther')
    // The value it runs with, and may go back to, can still be opened.
    expect(opened(w, before)).toBe(MARKER)
  })

  test('that changes skips a working machine whose agent publishes no key, and says why', async () => {
    const w = await world({ secret: secret(MARKER) })
    const name = await joined(w)
    report(w, name, 'Healthy')
    await w.clock.advance(5_000)
    w.fake.poke(machineType, { name }, { status: { agent: { publicKey: null } } }, 'status')
    w.fake.poke(secretType, secretKey, { data: { password: base64('an0ther') } })
    await w.clock.advance(70_000)
    beat(w, name)
    await w.clock.advance(5_000)
    expect(set(w).status?.slices ?? []).toEqual([])
    expect(set(w).status?.skipped).toEqual([
      { machine: name, reason: 'its agent has not published a key to encrypt secret values' },
    ])
  })

  test.each([
    ['whose Secret is not there', undefined, /Secret kubenode-system\/registry not found/, 'registry'],
    ['whose Secret lacks the key', secret('x', { data: {} }), /has no key password/, 'registry'],
    ['in a Secret of another type', secret('x', { type: 'kubernetes.io/tls' }), /only Opaque/, 'registry'],
    [
      'in a Secret that is not labeled for components',
      secret('x', { metadata: { namespace: SYSTEM_NAMESPACE, name: 'registry' } }),
      /is not for components; label it kubenode.io\/for-components=true/,
      'registry',
    ],
    ['in a Secret of our own', secret('x'), /KubeNode's own/, 'kubenode-webhook-tls'],
  ])('%s stalls the set with what is to be mended, and nothing is made of it', async (_, planted, says, name) => {
    const w = await world({ ...defined({ secret: planted }), set: base(name) })
    await joined(w)
    expect(configs(w)).toEqual([])
    expect(sealed(w)).toEqual([])
    expect(set(w).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Stalled', status: 'True', message: expect.stringMatching(says) }),
    )
  })

  test('that is taken away later changes nothing on machines that have it', async () => {
    const w = await world({ secret: secret(MARKER) })
    const name = await joined(w)
    report(w, name, 'Healthy')
    await w.clock.advance(5_000)
    const revisions = set(w).status?.revisions
    w.fake.uproot(secretType, secretKey)
    await w.clock.advance(70_000)
    expect(set(w).status?.revisions).toEqual(revisions)
    expect(configs(w)).toHaveLength(1)
    expect(opened(w, configs(w)[0])).toBe(MARKER)
  })

  test('of a canary is sealed for the machines that it marks, and a Secret that goes meanwhile takes nothing from them', async () => {
    const w = await world({
      secret: secret(MARKER),
      set: { ...base(), spec: { ...base().spec, components: [{ name: 'beacon', version: '1.0.0' }] } },
    })
    const name = await joined(w)
    w.fake.poke(nodeType, { name }, { spec: { taints: [] } })
    report(w, name, 'Healthy')
    await w.clock.advance(5_000)
    expect(w.machine(name)?.status?.phase).toBe('Ready')
    w.fake.plant(componentCanary, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'ComponentCanary',
      metadata: { name: 'try' },
      spec: { ...base().spec, pick: { count: 1 } },
    })
    beat(w, name)
    await w.clock.advance(5_000)
    const [config] = configs(w)
    const entry = () => w.machine(name)?.spec.components?.[0]
    expect(entry()).toMatchObject({ config: config?.metadata.name, canaryRef: 'try', attempt: 2 })
    expect(opened(w, config)).toBe(MARKER)
    w.fake.uproot(secretType, secretKey)
    await w.clock.advance(30_000)
    beat(w, name)
    await w.clock.advance(35_000)
    expect(entry()).toMatchObject({ config: config?.metadata.name, canaryRef: 'try', attempt: 2 })
  })

  test('goes from the machine when no configuration has it any more', async () => {
    const w = await world({ secret: secret(MARKER) })
    await joined(w)
    expect(sealed(w)).toHaveLength(1)
    w.fake.uproot(machineComponentSet, { name: 'base' })
    for (const c of configs(w)) w.fake.uproot(componentConfig, { name: c.metadata.name ?? '' })
    await w.clock.advance(2_000)
    expect(sealed(w)).toEqual([])
  })
})
