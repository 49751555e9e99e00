import { App, Chart, Testing, type ApiObjectMetadata } from 'cdk8s'
import { describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { ApiKind } from '../kind.ts'
import { KINDS } from '../kinds.ts'
import { unservedFields } from '../unserved.ts'
import { createValidator } from '../validate.ts'
import * as constructs from './constructs.ts'

const { ClusterChart, ComponentConfig, HubChart, MachineComponent, MachineSet, NodeRemedier, Release } = constructs

/** cdk8s wants its own shape of metadata; examples have names and labels only. */
const named = ({ example: { metadata } }: ApiKind): ApiObjectMetadata =>
  defined({ name: metadata.name, namespace: metadata.namespace, labels: metadata.labels })

const workers = { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } } } }

test('there is a construct for every kind, and its example passes through it unchanged', () => {
  const chart = new Chart(new App(), 'c')
  const all: Readonly<Record<string, unknown>> = constructs
  // A person asks for a log; a policy refuses requests that a commit declares.
  for (const kind of KINDS.filter((k) => k.kind !== 'LogRequest')) {
    const Made = all[kind.kind] as constructs.ObjectConstruct<unknown>
    const make = () => new Made(chart, kind.kind, { metadata: named(kind), spec: kind.example.spec })
    if (unservedFields(kind).some(({ path }) => path.length === 1)) {
      expect(make).toThrow('not served yet')
      continue
    }
    const object = make()
    expect(object.toJson()).toEqual(kind.example)
    expect(createValidator().problems(kind, object.toJson())).toEqual([])
  }
})

test('a name is the id of the construct unless it is given', () => {
  const chart = new Chart(new App(), 'c')
  expect(new MachineSet(chart, 'workers', { spec: workers }).name).toBe('workers')
  expect(new MachineSet(chart, 'more', { metadata: { name: 'others' }, spec: workers }).name).toBe('others')
})

test('a component version and a configuration name themselves', () => {
  const chart = new Chart(new App(), 'c')
  const spec = {
    component: 'cni',
    version: '1.0+X',
    type: 'DaemonSet',
    daemonSet: { namespace: 'kube-system', name: 'cni' },
  } as const
  expect(new MachineComponent(chart, 'cni', { spec }).name).toBe('cni.1.0e--2be--58')
  expect(
    () => new ComponentConfig(chart, 'config', { spec: { component: 'cni', digest: '0'.repeat(64), values: {} } }),
  ).toThrow('KN5007: /spec/digest: is not the digest of the values')
})

test('an object of the whole cluster takes no namespace from its chart, one of the hub does', () => {
  const hub = new HubChart(new App())
  new MachineSet(hub, 'workers', { spec: workers })
  new Release(hub, 'release', { spec: KINDS.find((k) => k.kind === 'Release')?.example.spec as never })
  expect(Testing.synth(hub).map((o: { metadata: { namespace?: string } }) => o.metadata.namespace)).toEqual([
    undefined,
    'fleet',
  ])
})

test('objects of a cluster chart say which cluster they are for', () => {
  const chart = new ClusterChart(new App(), 'prod')
  expect(new MachineSet(chart, 'workers', { spec: workers }).toJson()).toMatchObject({
    metadata: { labels: { 'kubenode.io/cluster': 'prod' } },
  })
  expect(() => new ClusterChart(new App(), 'Prod_1')).toThrow('KN3097: cannot create a chart for cluster "Prod_1"')
  expect(() => new ClusterChart(new App(), 'hub')).toThrow('KN3097: cannot create a chart for cluster hub')
})

function caught(act: () => unknown): string {
  try {
    return String(act())
  } catch (e) {
    return messageOf(e)
  }
}

describe('a mistake', () => {
  test('is refused where it is written, with its place in the tree', () => {
    const chart = new Chart(new App(), 'test')
    const spec = {
      when: { all: [{ fact: 'conditions', operator: 'equal', path: 'x', value: 1 }] },
      ladder: [{ operations: [{}] }],
    }
    const made = caught(() => new NodeRemedier(chart, 'rule', { spec }))
    expect(made).toContain('KN5000: cannot accept NodeRemedier "rule" at test/rule; fix the following and try again:\n')
    expect(made).toContain('KN5007: /spec/when/all/0/path: is not a JSON pointer')
    expect(made).toContain('KN5007: /spec/ladder/0/operations/0: exactly one of')
  })

  test('of a type is seen by the compiler, and of a field by the validator', () => {
    const chart = new Chart(new App(), 'test')
    const replica = { ...workers, replica: 3 }
    expect(() => new MachineSet(chart, 'workers', { spec: replica })).toThrow('did you mean replicas?')
  })
})
