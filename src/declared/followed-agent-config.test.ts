// What agents get from the ConfigMap that git declares, and what happens when it is deleted, broken or edited by hand.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AGENT_CONFIG_MAP } from '#api/agent-config/agent-config-map.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { contentOf } from '#api/protocol/committed.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import type { NewEvent } from '#kube/events.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { type Informers, createInformers } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { DeclaredAgentConfig } from './followed-agent-config.ts'

const CONFIG_MAP = coreKind('ConfigMap')
const map = (text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...AGENT_CONFIG_MAP },
  data: { 'agent.json': text },
})
/** In the form in which sync records what git declares. */
const listing = (text: string): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Inventory',
  metadata: { name: 'fleet-0' },
  spec: {
    source: 'fleet',
    track: 'fleet',
    shard: 0,
    refs: [{ group: '', kind: 'ConfigMap', ...AGENT_CONFIG_MAP, committed: [contentOf(map(text))] }],
  },
})

let clock = new VirtualClock()
let fake = newFake()
let caches: Informers[] = []
let events: (readonly [object: string, wish: NewEvent])[] = []
function newFake() {
  const kinds = [{ type: inventory, schema: inventory.schema, status: true }]
  return new FakeKube({ clock, random: seededRandom(1), kinds })
}
beforeEach(() => {
  clock = new VirtualClock()
  fake = newFake()
  caches = []
  events = []
})
afterEach(() => Promise.all(caches.map((c) => c.stop())))

/** A process that gives agents their configuration. */
async function started(): Promise<DeclaredAgentConfig> {
  const client = fake.client({ actor: 'controllers' })
  const informers = createInformers({ client, clock, random: seededRandom(2), log: silentLogger, startSpreadMs: 0 })
  caches.push(informers)
  const recorder = {
    record: (o: KubeObject, wish: NewEvent) => void events.push([`${o.kind}/${o.metadata.name}`, wish]),
    flush: () => Promise.resolve(),
  }
  const declared = new DeclaredAgentConfig({ informers, clock, events: recorder, log: silentLogger })
  expect(declared.text()).toBeUndefined()
  informers.start()
  await informers.synced()
  return declared
}

/** Delivers the server's changes and runs for a while, as providers do. */
async function settled(declared: DeclaredAgentConfig): Promise<string | undefined> {
  for (let i = 0; i < 12; i++) {
    await clock.advance(500)
    declared.text()
  }
  return declared.text()
}
const reasons = () => events.map(([object, wish]) => `${object} ${wish.reason}`)
const put = (type: ResourceType, { metadata, ...content }: KubeObject): void => {
  const { name = '', namespace } = metadata
  const key = { name, ...defined({ namespace }) }
  if (fake.peek(type, key) === undefined) fake.plant(type, { metadata, ...content })
  else fake.poke(type, key, content)
}
const declare = (text: string): void => {
  put(inventory, listing(text))
  put(CONFIG_MAP, map(text))
}
const remove = () => fake.uproot(CONFIG_MAP, AGENT_CONFIG_MAP)

test('agents get what is declared, and a change of it; a fleet without a configuration is in no trouble', async () => {
  const none = await started()
  expect(await settled(none)).toBeUndefined()
  declare('{"lease":"5s"}')
  expect(await settled(none)).toBe('{"lease":"5s"}')
  declare('{"lease":"6s"}')
  expect(await settled(none)).toBe('{"lease":"6s"}')
  expect(events).toEqual([])
})

test('a ConfigMap of another name or namespace is none of it', async () => {
  put(CONFIG_MAP, { ...map('{"lease":"1s"}'), metadata: { ...AGENT_CONFIG_MAP, name: 'other' } })
  put(CONFIG_MAP, { ...map('{"lease":"2s"}'), metadata: { ...AGENT_CONFIG_MAP, namespace: 'default' } })
  expect(await settled(await started())).toBeUndefined()
})

test('one that is deleted or broken leaves the last good one, and one event on it says so', async () => {
  declare('{"lease":"5s"}')
  const declared = await started()
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  declare('{ "logs": [')
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(reasons()).toEqual(['ConfigMap/kubenode-agent-config AgentConfigUnusable'])
  expect(events[0]?.[1].note).toBe('agents keep their configuration: it is not a JSON object of at most 32 levels')
  remove()
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(reasons().slice(1)).toEqual(['ConfigMap/kubenode-agent-config AgentConfigDeleted'])
  declare('{}')
  expect(await settled(declared)).toBe('{}')
  remove()
  await settled(declared)
  expect(reasons().slice(2)).toEqual(['ConfigMap/kubenode-agent-config AgentConfigDeleted'])
})

test('an edit by hand of what git declares reaches no agent, also after a restart; what git declares next does', async () => {
  put(inventory, listing('{"lease":"5s"}'))
  put(CONFIG_MAP, map('{"lease":"5s"}'))
  const declared = await started()
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  put(CONFIG_MAP, map('{"lease":"9s"}'))
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(reasons()).toEqual(['ConfigMap/kubenode-agent-config UncommittedChange'])
  expect(await settled(await started())).toBeUndefined()
  put(inventory, listing('{"lease":"9s"}'))
  expect(await settled(declared)).toBe('{"lease":"9s"}')
})

test('an Inventory that arrives a moment after the change is no trouble', async () => {
  put(inventory, listing('{"lease":"5s"}'))
  put(CONFIG_MAP, map('{"lease":"5s"}'))
  const declared = await started()
  put(CONFIG_MAP, map('{"lease":"6s"}'))
  await clock.advance(1_000)
  declared.text()
  put(inventory, listing('{"lease":"6s"}'))
  expect(await settled(declared)).toBe('{"lease":"6s"}')
  expect(events).toEqual([])
})

/** Runs a shell as root on every node if agents accept it. */
const SHELL = JSON.stringify({
  monitors: [
    {
      config: {
        plugin: 'custom',
        source: 'evil',
        pluginConfig: { invoke_interval: '1s', timeout: '3s' },
        conditions: [],
        rules: [{ type: 'temporary', reason: 'Evil', path: '/../../../../../../../../bin/sh', args: ['-c', 'id'] }],
      },
    },
  ],
})
const unrecorded = ({ spec, ...rest }: KubeObject): KubeObject => ({
  ...rest,
  spec: {
    ...(spec as object),
    refs: (spec as { refs: readonly object[] }).refs.map((ref) => ({ ...ref, committed: undefined })),
  },
})

test('a stolen sync key that drops the record of an Inventory changes no agent, and an event says so', async () => {
  declare('{"lease":"5s"}')
  const declared = await started()
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  put(inventory, JSON.parse(JSON.stringify(unrecorded(listing('{"lease":"5s"}')))) as KubeObject)
  put(CONFIG_MAP, map('{"lease":"9s"}'))
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(reasons()).toEqual(['ConfigMap/kubenode-agent-config UncommittedChange'])
  fake.uproot(inventory, { name: 'fleet-0' })
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(await settled(await started())).toBeUndefined()
})

test('a stolen sync key that also forges the record gets no program onto a node', async () => {
  declare('{"lease":"5s"}')
  const declared = await started()
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  declare(SHELL)
  expect(await settled(declared)).toBe('{"lease":"5s"}')
  expect(await settled(await started())).toBeUndefined()
  expect(reasons()[0]).toBe('ConfigMap/kubenode-agent-config AgentConfigRefused')
  expect(events[0]?.[1].note).toMatch(/monitors\[0\]\.config\.plugin .*agent-from-host\.json/)
})
