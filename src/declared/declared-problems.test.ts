// What is refused before a merge, and what is only reported: one case for each common mistake.
import { describe, expect, test } from 'vitest'
import { Signer, generateKey } from '#api/trust/keys.ts'
import { signStatement } from '#api/trust/statement.ts'
import { trustBytes, type SignedTrust } from '#api/trust/trust-document.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredProblems } from './declared-problems.ts'
import { placesIn } from './find-in-files.ts'
import { defined } from '#lib/defined.ts'

const object = (kind: string, name: string, spec: Record<string, unknown>, annotations?: Record<string, string>) =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind,
    metadata: { name, ...defined({ annotations }) },
    spec,
  }) as unknown as KubeObject

const component = (name: string, version: string, more: Record<string, unknown> = {}) =>
  object('MachineComponent', `${name}.${version}`, {
    component: name,
    version,
    artifacts: [{ arch: 'any', url: 'x.tar', sha256: 'ab'.repeat(32), size: 1 }],
    install: { unpack: { path: '/opt/x' } },
    disruption: 'None',
    ...more,
  })
const script = component('mend', '1.0.0', { type: 'Script', script: { command: ['/x'] } })
interface SetOptions {
  readonly name?: string
  readonly selector?: Record<string, unknown>
  readonly annotations?: Record<string, string>
}
const set = (version: string, { name = 'beacon', selector = {}, annotations }: SetOptions = {}) =>
  object('MachineComponentSet', 'base', { selector, components: [{ name, version }] }, annotations)
const rule = (when: unknown, more: Record<string, unknown> = {}) =>
  object('NodeRemedier', 'mend-it', { when, ladder: [{ operations: [{ cordon: {} }] }], ...more })
const status = (type: string, value: string, operator = 'equal') => ({
  fact: 'conditions',
  path: `/${type}/status`,
  operator,
  value,
})
const machines = object('MachineSet', 'workers', {
  replicas: 1,
  selector: { matchLabels: { pool: 'workers' } },
  template: { metadata: { labels: { pool: 'workers' } }, spec: { provider: { name: 'process' } } },
})
const runs = (name: string, version: string) =>
  rule({ all: [status('Ready', 'False')] }, { ladder: [{ operations: [{ runScript: { component: name, version } }] }] })

const acceptedBy = (component: string) =>
  object('MachineSet', 'tested', {
    replicas: 1,
    selector: { matchLabels: { pool: 'tested' } },
    template: {
      metadata: { labels: { pool: 'tested' } },
      spec: { acceptance: { script: { component, version: '1.0.0' } } },
    },
  })

const laddered = (...operations: readonly object[]) =>
  rule({ all: [status('Ready', 'Unknown')] }, { ladder: operations.map((operation) => ({ operations: [operation] })) })
const rescues = laddered({ rescue: {} }, { rescueReboot: {} })
const andReboots = laddered({ rescue: {} }, { reboot: {} })
const sshMachine = (more: Record<string, unknown>) =>
  object('Machine', 'db-1', {
    channel: 'Agent',
    pool: 'db',
    ssh: { host: '10.0.0.1', hostKey: 'ssh-ed25519 AAAA', secretRef: { name: 'join' }, ...more },
  })

const policy = (when: unknown) => object('DefenderPolicy', 'careful', { rules: [{ name: 'r', when, reason: 'Busy' }] })
const machinesAre = (operator: string, value: number) => ({ fact: 'cluster', path: '/machines', operator, value })

const agents = (text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'kubenode-system', name: 'kubenode-agent-config' },
  data: { 'agent.json': text },
})
const watches = (condition: string) =>
  JSON.stringify({ logs: [{ path: '/var/log/db', rules: [{ condition, reason: 'Slow', pattern: 'slow' }] }] })

const said = (objects: readonly KubeObject[], trust?: SignedTrust) =>
  declaredProblems(objects, { trust }).map(
    (p) => `${p.isCertain ? '' : 'perhaps '}${p.code} ${p.object.kind}${p.pointer}`,
  )

const beacon = component('beacon', '1.0.0')
const repairs = (operation: object) =>
  object('NodeRemedier', 'mend', {
    when: { all: [status('Ready', 'False')] },
    ladder: [{ operations: [operation], verify: { conditionCleared: 'Ready' } }],
  })
/** A signed component that brings a monitor file. */
const monitor = (type: string) =>
  component('watch', '1.0.0', {
    files: [
      {
        path: '/etc/kubenode/monitors/disk.json',
        template: JSON.stringify({ plugin: 'kmsg', source: 's', conditions: [{ type, reason: 'Fine' }], rules: [] }),
      },
      { path: '/etc/watch.conf', template: '{ no: json' },
    ],
  })

describe('refused: ', () => {
  test.each<[string, readonly KubeObject[], string]>([
    ['a version that is not declared', [beacon, set('1.0.1')], 'KN3062 MachineComponentSet/spec/components/0/version'],
    [
      'a component that is not declared',
      [beacon, set('1.0.0', { name: 'becon' })],
      'KN3062 MachineComponentSet/spec/components/0/version',
    ],
    [
      'a script that is not declared',
      [beacon, runs('mend', '1.0.0')],
      'KN3062 NodeRemedier/spec/ladder/0/operations/0/runScript',
    ],
    [
      'a script that is none',
      [beacon, runs('beacon', '1.0.0')],
      'KN3064 NodeRemedier/spec/ladder/0/operations/0/runScript',
    ],
    [
      'an acceptance of new machines by a component that is no script',
      [beacon, acceptedBy('beacon')],
      'KN3064 MachineSet/spec/template/spec/acceptance/script',
    ],
    [
      'an acceptance of new machines by a script that is not declared',
      [beacon, acceptedBy('memtest')],
      'KN3062 MachineSet/spec/template/spec/acceptance/script',
    ],
    [
      'a restart of a component whose name is nearly a declared one',
      [beacon, repairs({ restartComponent: { component: 'becon' } })],
      'KN3062 NodeRemedier/spec/ladder/0/operations/0/restartComponent/component',
    ],
    [
      'a script as a component',
      [script, set('1.0.0', { name: 'mend' })],
      'KN3064 MachineComponentSet/spec/components/0/version',
    ],
    [
      'a rule that contradicts itself',
      [rule({ all: [status('Ready', 'True'), status('Ready', 'False')] })],
      'KN4001 NodeRemedier/spec/when/all/0',
    ],
    [
      'a rule with an unknown fact',
      [rule({ all: [{ fact: 'conditons', operator: 'exists' }] })],
      'KN4005 NodeRemedier/spec/when/all/0/fact',
    ],
    [
      'a policy with a rule that does not compile, which would block every disruption',
      [policy({ all: [{ fact: 'cluster', path: '/machnes', operator: 'greaterThan', value: 1 }] })],
      'KN4005 DefenderPolicy/spec/rules/0/when/all/0/path',
    ],
    [
      'a policy with a rule that contradicts itself',
      [policy({ all: [machinesAre('greaterThan', 5), machinesAre('lessThan', 3)] })],
      'KN4001 DefenderPolicy/spec/rules/0/when/all/0',
    ],
    [
      'a gate with a rule that does not compile, which would never open',
      [
        object('ReleasePipeline', 'standard', {
          stages: [
            {
              name: 'prod',
              clusters: { names: ['a'] },
              after: [{ name: 'own', custom: { when: { all: [{ ...machinesAre('equal', 1), path: '/machnes' }] } } }],
            },
          ],
        }),
      ],
      'KN4005 ReleasePipeline/spec/stages/0/after/0/custom/when/all/0/path',
    ],
    [
      'versions that require each other',
      [
        component('a', '1.0.0', { requires: [{ component: 'b', range: '>=1.0.0' }] }),
        component('b', '1.0.0', { requires: [{ component: 'a', range: '>=1.0.0' }] }),
        object('MachineComponentSet', 'base', {
          selector: {},
          components: [
            { name: 'a', version: '1.0.0' },
            { name: 'b', version: '1.0.0' },
          ],
        }),
      ],
      'KN3071 MachineComponentSet/spec/components/0',
    ],
    ['a configuration of agents with a typo', [agents('{"leese":"5s","logs":[]}')], 'KN3072 ConfigMap/data/agent.json'],
    [
      'a configuration of agents that runs a program',
      [agents('{"monitors":[{"config":{"plugin":"custom","source":"s","rules":[]}}]}')],
      'KN3074 ConfigMap/data/agent.json',
    ],
    ['a configuration of agents that is cut off', [agents('{"logs":[')], 'KN3072 ConfigMap/data/agent.json'],
    [
      'a selector that contradicts itself',
      [
        set('1.0.0', {
          selector: {
            matchLabels: { a: 'x' },
            matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['x'] }],
          },
        }),
      ],
      'KN3067 MachineComponentSet/spec/selector',
    ],
  ])('%s', (_, objects, problem) => {
    expect(said(objects)).toEqual([problem])
  })
})

test('a condition is known when the monitor file of a declared component reports it', () => {
  const reads = rule({ all: [status('DiskSlow', 'True')] })
  expect(said([reads, monitor('DiskSlow')])).toEqual([])
  expect(said([reads, monitor('DiskFull')])).toEqual(['perhaps KN3066 NodeRemedier/spec/when/all/0'])
})

test('nothing is said of a restart of what the distribution installed: agents restart its unit', () => {
  expect(said([beacon, repairs({ restartComponent: { component: 'kubelet' } })])).toEqual([])
})

describe('a warning, since it may be intended: ', () => {
  test.each<[string, readonly KubeObject[], string]>([
    [
      'a repair of a component that this fleet does not declare',
      [beacon, repairs({ reinstallComponent: { component: 'kubelet' } })],
      'perhaps KN3062 NodeRemedier/spec/ladder/0/operations/0/reinstallComponent/component',
    ],
    [
      'a condition that no known detector reports',
      [rule({ all: [status('KernelDeadlok', 'True')] })],
      'perhaps KN3066 NodeRemedier/spec/when/all/0',
    ],
    [
      'a verification that misspells a condition of the rule, which any name could be',
      [
        object('NodeRemedier', 'mend', {
          when: { all: [status('LogProblem-OomKill', 'True')] },
          ladder: [{ operations: [{ cordon: {} }], verify: { conditionCleared: 'LogProblem-OomKil' } }],
        }),
      ],
      'perhaps KN3066 NodeRemedier/spec/ladder/0/verify/conditionCleared',
    ],
    [
      'a condition that is nearly one of the log rules of this cluster',
      [agents(watches('DatabaseSlow')), rule({ all: [status('DatabaseSlo', 'True'), status('DatabaseSlow', 'True')] })],
      'perhaps KN3066 NodeRemedier/spec/when/all/0',
    ],
    ['a rescue on machines without a rescue key', [machines, rescues], 'perhaps KN3069 NodeRemedier/spec/ladder'],
    [
      'labels that no declared machine has',
      [machines, set('1.0.0', { selector: { matchLabels: { pool: 'wrokers' } } })],
      'perhaps KN3068 MachineComponentSet/spec/selector',
    ],
  ])('%s', (_, objects, problem) => {
    expect(said(objects)).toEqual([problem])
  })
})

test.each<[string, readonly KubeObject[]]>([
  ['what is declared', [beacon, script, set('1.0.0'), runs('mend', '1.0.0'), machines]],
  ['a fleet that declares no components: another source does', [set('1.0.0')]],
  [
    'a component that another source declares',
    [beacon, set('1.0.0', { name: 'kubelet', annotations: { 'kubenode.io/declared-elsewhere': 'kubelet' } })],
  ],
  ['a fleet that only observes machines', [set('1.0.0', { selector: { matchLabels: { pool: 'any' } } })]],
  ['a condition of our own agents', [rule({ all: [status('DiskSpaceLow', 'True')] })]],
  [
    'a condition that a log rule of the declared configuration of agents reports',
    [agents(watches('DatabaseSlow')), rule({ all: [status('DatabaseSlow', 'True')] })],
  ],
  ['objects of others', [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }]],
])('nothing is said of %s', (_, objects) => {
  expect(said(objects)).toEqual([])
})

describe('with a trust document', () => {
  const signer = new Signer(generateKey().pem)
  const document = {
    sequence: 1,
    threshold: 1,
    keys: [signer.publicKey],
    expires: '2001-01-01T00:00:00Z',
    revoked: ['cd'.repeat(32)],
    floors: {},
  }
  const trust: SignedTrust = { document, signatures: [signer.sign(trustBytes(document))] }
  const signed = (o: KubeObject) => ({ ...o, spec: signStatement(o['spec'] as never, signer) }) as unknown as KubeObject
  const artifact = (sha256: string) => [{ arch: 'any', url: 'x.tar', sha256, size: 1 }]

  test.each<[string, KubeObject, readonly string[]]>([
    ['a signed component, also when the document has expired meanwhile', signed(beacon), []],
    ['an unsigned component', beacon, ['KN1108 MachineComponent/spec/signatures']],
    [
      'one that another key signed',
      { ...beacon, spec: signStatement(beacon['spec'] as never, new Signer(generateKey().pem)) },
      ['KN1108 MachineComponent/spec/signatures'],
    ],
    [
      'a placeholder for a digest',
      component('beacon', '1.0.0', { artifacts: artifact('0'.repeat(64)) }),
      ['KN1108 MachineComponent/spec/artifacts/0/sha256'],
    ],
    [
      'a revoked version that is still declared',
      signed(component('beacon', '1.0.0', { artifacts: artifact('cd'.repeat(32)) })),
      ['perhaps KN1108 MachineComponent/spec/signatures'],
    ],
    ['a daemon set, which no agent installs', component('proxy', '1.0.0', { type: 'DaemonSet' }), []],
  ])('%s', (_, one, problems) => {
    expect(said([one], trust)).toEqual(problems)
  })
})

test('a component that agents refuse is found where it is declared, not where it is used', () => {
  const data = { component: 'beacon', version: '1.1.0', type: 'Package', artifacts: [{ sha256: 'x' }] }
  const files = {
    'fleet/clusters/versions.json': '{ "beacon": "1.1.0", "scribe": "1.0.0" }',
    'fleet/components/beacon-1.1.0.json': JSON.stringify(data, undefined, 2),
    'fleet/components/beacon-11.1.0.json': JSON.stringify({ ...data, version: '11.1.0' }, undefined, 2),
    'fleet/machines/components.ts': `import beacon from '../components/beacon-1.1.0.json'\nnew MachineComponent(beacon)\n`,
  }
  const words = ['1.1.0', 'beacon', 'artifacts', 'MachineComponent']
  const both = 'fleet/components/beacon-1.1.0.json:3 or fleet/machines/components.ts:1'
  expect(placesIn(files)(words)).toBe(both)
})

test('the place of a problem is the line with all its words, or the file with most of them, or several that have as many', () => {
  const files = {
    'fleet/a.ts': `const x = '9.9.9'\n`,
    'fleet/b.ts': `import 'x'\n// beacon\nset({ beacon: '9.9.9' })\n`,
  }
  expect(placesIn(files)(['9.9.9', 'beacon'])).toBe('fleet/b.ts:3')
  expect(placesIn(files)(['9.9.9'])).toBe('fleet/a.ts:1 or fleet/b.ts:3')
  expect(placesIn(files)(['nowhere', 'beacon'])).toBeUndefined()
})

describe('requests that are refused wherever they are made', () => {
  const pipeline = (url: string) =>
    object('ReleasePipeline', 'standard', {
      stages: [
        {
          name: 'prod',
          clusters: { names: ['prod'] },
          before: [{ name: 'board', approval: { from: ['ada'] } }],
          after: [{ name: 'shop', http: { url } }],
        },
      ],
    })
  const inspected = (url: string) =>
    object('MachineComponentSet', 'base', {
      selector: {},
      components: [],
      rollout: { inspections: [{ name: 'web', http: { url } }] },
    })

  test.each([
    ['http://127.0.0.1:8080/healthz', /asks 127\.0\.0\.1:8080, which is refused: .* leads to 127\.0\.0\.1/],
    ['http://localhost:8080/', /it is the host of the program that asks/],
    ['http://app.localhost/', /it is the host of the program that asks/],
    ['http://[::1]/', /leads to ::1/],
    ['http://169.254.169.254/latest', /leads to 169\.254\.169\.254/],
    ['http://0x7f000001/', /leads to 127\.0\.0\.1/],
    ['ftp://shop.example.org/', /unsupported scheme ftp:/],
    ['https://ada:secret@shop.example.org/', /credentials in the URL/],
  ])('%s is warned of, before a stage waits for its timeout', (url, words) => {
    for (const [declared, what, pointer] of [
      [pipeline(url), 'gate shop of stage prod', '/spec/stages/0/after/0/http/url'],
      [inspected(url), 'inspection web', '/spec/rollout/inspections/0/http/url'],
    ] as const) {
      const found = declaredProblems([declared])
      expect(found).toMatchObject([{ code: 'KN3060', pointer, isCertain: false }])
      expect(found[0]?.message).toMatch(words)
      expect(found[0]?.message).toContain(`${what} asks`)
      expect(found[0]?.message).not.toContain('secret')
    }
  })

  test.each(['https://shop.example.org/healthz', 'http://10.0.0.7/', 'http://localhost.example.org/'])(
    '%s is asked',
    (url) => expect(declaredProblems([pipeline(url), inspected(url)])).toEqual([]),
  )
})

describe('a rescue', () => {
  const key = { rescue: { secretRef: { name: 'rescue' } } }

  test.each<[string, readonly KubeObject[], string]>([
    ['is possible with a rescue key', [sshMachine(key), rescues], ''],
    ['is reported with the pools that have none', [sshMachine({}), machines, rescues], 'pool (none), db '],
    ['is not reported where no machine is declared', [rescues], ''],
    ['is not reported where another rung follows', [sshMachine({}), andReboots], ''],
    [
      'is not reported where the rule is for other machines',
      [sshMachine({}), { ...rescues, spec: { ...Object(rescues['spec']), nodeSelector: { matchLabels: { a: 'b' } } } }],
      '',
    ],
  ])('%s', (_, objects, shown) => {
    const found = declaredProblems(objects).filter(({ code }) => code === 'KN3069')
    expect(found.map(({ message }) => message).join()).toContain(shown)
    expect(found).toHaveLength(shown === '' ? 0 : 1)
  })
})
