import { describe, expect, test } from 'vitest'
import { detailsText, violationsOf } from './evaluate.ts'
import { existingPodsWarnings } from './existing-pods.ts'
import { policyOf, textOf, type Level } from './levels.ts'
import { viewOfPod } from './pod-view.ts'

const prefixed = (labels: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(labels).map(([k, v]) => [`pod-security.kubernetes.io/${k}`, v]))

describe('the policy of a namespace', () => {
  test.each<[what: string, labels: Readonly<Record<string, string>>, enforce: string, warn: string, audit: string]>([
    ['without labels', {}, 'privileged:latest', 'privileged:latest', 'privileged:latest'],
    [
      'that enforces warns of the same',
      { enforce: 'baseline' },
      'baseline:latest',
      'baseline:latest',
      'privileged:latest',
    ],
    [
      'that enforces a release warns of that release',
      { enforce: 'baseline', 'enforce-version': 'v1.20' },
      'baseline:v1.20',
      'baseline:v1.20',
      'privileged:latest',
    ],
    [
      'that names a release to warn of keeps it',
      { enforce: 'baseline', 'enforce-version': 'v1.20', 'warn-version': 'v1.30' },
      'baseline:v1.20',
      'baseline:v1.30',
      'privileged:latest',
    ],
    [
      'that warns of nothing means it',
      { enforce: 'restricted', warn: 'privileged' },
      'restricted:latest',
      'privileged:latest',
      'privileged:latest',
    ],
    [
      'that cannot be read enforces all and warns of nothing',
      { enforce: 'strict', warn: 'x', audit: 'y', 'enforce-version': 'new' },
      'restricted:latest',
      'privileged:latest',
      'privileged:latest',
    ],
    [
      'of a release to come',
      { audit: 'restricted', 'audit-version': 'v1.99' },
      'privileged:latest',
      'privileged:latest',
      'restricted:v1.99',
    ],
  ])('%s', (_, labels, ...expected) => {
    const { enforce, warn, audit } = policyOf(prefixed(labels))
    expect([enforce, warn, audit].map(textOf)).toEqual(expected)
  })
  test('names every label that cannot be read', () => {
    const { problems } = policyOf(
      prefixed({ enforce: 'strict', 'enforce-version': '1', audit: 'x', warn: 'restricted' }),
    )
    expect(problems.map((p) => p.field)).toEqual([
      'metadata.labels[pod-security.kubernetes.io/enforce]',
      'metadata.labels[pod-security.kubernetes.io/enforce-version]',
      'metadata.labels[pod-security.kubernetes.io/audit]',
    ])
  })
  test('is not read from what objects inherit', () => {
    const labels = Object.create({ 'pod-security.kubernetes.io/enforce': 'restricted' }) as Record<string, string>
    expect(policyOf(labels).enforce.level).toBe('privileged')
  })
})

describe('the rules of a release', () => {
  const container = (security: object) => ({ containers: [{ name: 'a', securityContext: security }] })
  const good = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const unmasked = container({ ...good, procMount: 'Unmasked' })
  const windows = { os: { name: 'windows' }, ...container({ runAsNonRoot: true }) }
  const annotated = { 'container.seccomp.security.alpha.kubernetes.io/a': 'unconfined' }
  test.each<[Level, minor: number, spec: object, annotations: Readonly<Record<string, string>>, reasons: string[]]>([
    ['baseline', 18, container({ seccompProfile: { type: 'Unconfined' } }), {}, []],
    ['baseline', 18, container({}), annotated, ['seccompProfile']],
    ['baseline', 19, container({}), annotated, []],
    ['baseline', 19, container({ seccompProfile: { type: 'Unconfined' } }), {}, ['seccompProfile']],
    ['baseline', 30, container({ seLinuxOptions: { type: 'container_engine_t' } }), {}, ['seLinuxOptions']],
    ['baseline', 31, container({ seLinuxOptions: { type: 'container_engine_t' } }), {}, []],
    ['baseline', 34, { hostUsers: false, ...unmasked }, {}, ['procMount']],
    ['baseline', 35, { hostUsers: false, ...unmasked }, {}, []],
    ['restricted', 35, { hostUsers: false, ...unmasked }, {}, ['procMount']],
    ['restricted', 7, container({ runAsNonRoot: true }), {}, []],
    ['restricted', 8, container({ runAsNonRoot: true }), {}, ['allowPrivilegeEscalation != false']],
    ['restricted', 21, container({ ...good, capabilities: {} }), {}, []],
    ['restricted', 21, container({ ...good, capabilities: { add: ['SYS_ADMIN'] } }), {}, ['non-default capabilities']],
    ['restricted', 22, container({ ...good, capabilities: { add: ['SYS_ADMIN'] } }), {}, ['unrestricted capabilities']],
    ['restricted', 22, container({ ...good, runAsUser: 0 }), {}, []],
    ['restricted', 23, container({ ...good, runAsUser: 0 }), {}, ['runAsUser=0']],
    [
      'restricted',
      24,
      windows,
      {},
      ['allowPrivilegeEscalation != false', 'unrestricted capabilities', 'seccompProfile'],
    ],
    ['restricted', 25, windows, {}, []],
    ['privileged', 36, { hostPID: true, ...container({ privileged: true }) }, {}, []],
  ])('%s of 1.%i', (level, minor, spec, annotations, reasons) => {
    const found = violationsOf(viewOfPod(spec as never, annotations), { level, version: `v1.${minor}` })
    expect(found.map((v) => v.reason)).toEqual(reasons)
  })
  test('are those of 1.36 for every later release', () => {
    const spec = { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_notsent_lowat' }] } }
    for (const version of ['latest', 'v1.36', 'v1.37', 'v1.1000000000000000000000'])
      expect(detailsText(violationsOf(viewOfPod(spec), { level: 'baseline', version }))).toBe(
        'forbidden sysctls (net.ipv4.tcp_notsent_lowat)',
      )
  })
})

test('of thousands of pods that are there, those of different controllers are looked at first', () => {
  const pod = (name: string, owner: string, spec: object) => ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: owner, uid: owner, controller: true }] },
    spec,
  })
  const alike = Array.from({ length: 3_500 }, (_, i) => pod(`fine-${i}`, 'one', {}))
  const last = pod('last', 'two', { hostPID: true })
  expect(existingPodsWarnings([...alike, last] as never, 'x', { level: 'baseline', version: 'latest' })).toEqual([
    'new PodSecurity enforce level only checked against the first 3000 of 3501 existing pods',
    'existing pods in namespace "x" violate the new PodSecurity enforce level "baseline:latest"',
    'last: host namespaces',
  ])
})
