import { describe, expect, test } from 'vitest'
import { machineComponent, type MachineComponentSpec } from './kinds/machine-component.ts'
import { ownerOfPath, ownerOfUnit, takenFromHost } from './reserved-paths.ts'
import { createValidator } from './validate.ts'

const AGENT = 'the KubeNode agent'
const SYSTEMD = 'systemd'

test.each([
  ['/etc/systemd/system/kubenode-agent.service', AGENT],
  ['/usr/lib/systemd/system/kubenode-agent.service', AGENT],
  ['/etc/systemd/system/kubenode-agent.service.d/x.conf', AGENT],
  ['/etc/systemd/system/multi-user.target.wants/kubenode-agent.service', AGENT],
  ['/opt/kubenode', AGENT],
  ['/opt/kubenode/agent.mjs', AGENT],
  ['/opt//kubenode/agent.mjs', AGENT],
  ['/opt/kubenode-agent', undefined],
  ['/var/lib/kubenode/state', AGENT],
  // A link in place of a folder takes everything in it.
  ['/opt', AGENT],
  ['/opt/', AGENT],
  ['/var/lib', AGENT],
  ['/etc', AGENT],
  ['/', AGENT],
  ['/etc/systemd/system', SYSTEMD],
  ['/usr/lib', SYSTEMD],
  ['/etc/systemd/system/dbus.service', SYSTEMD],
  ['/lib/systemd/system/dbus.socket', SYSTEMD],
  ['/run/systemd/system/dbus-org.freedesktop.login1.service', SYSTEMD],
  ['/etc/systemd/system/systemd-journald.service', SYSTEMD],
  ['/etc/systemd/system/dbus.service.d/limits.conf', undefined],
  ['/etc/systemd/system/multi-user.target.wants/lamp.service', undefined],
  ['/etc/systemd/system/kubenodelamp.service', undefined],
  ['/etc/systemd/journald.conf.d/lamp.conf', undefined],
  ['/usr/lib/lamp', undefined],
  ['/usr/local/bin/dbus.service', undefined],
])('%s belongs to %s', (path, owner) => {
  expect(ownerOfPath(path)).toBe(owner)
})

test.each([
  ['kubenode-agent.service', AGENT],
  ['kubenode-agent', AGENT],
  ['dbus', SYSTEMD],
  ['systemd-logind.service', SYSTEMD],
  ['multi-user.target', SYSTEMD],
  ['kubenode-lamp.service', undefined],
  ['containerd', undefined],
])('unit %s belongs to %s', (unit, owner) => {
  expect(ownerOfUnit(unit)).toBe(owner)
})

describe('a component', () => {
  const { spec } = machineComponent.example as { readonly spec: MachineComponentSpec }
  const CASES: readonly (readonly [change: object, pointers: readonly string[]])[] = [
    [{}, []],
    [{ service: { ...spec.service, unit: 'dbus.service' } }, ['service/unit']],
    // A service without a unit gets `kubenode-<component>.service`.
    [{ component: 'agent', service: { exec: '/usr/local/bin/containerd' } }, ['service/unit']],
    [{ component: 'lamp', service: { exec: '/usr/local/bin/containerd' } }, []],
    [{ install: { unpack: { path: '/var/lib', strip: 0 } } }, ['install/unpack/path']],
    [{ install: { binaries: [{ path: '/opt/kubenode/bin/node', mode: '0755' }] } }, ['install/binaries/0/path']],
    [
      { files: [...(spec.files ?? []), { ...spec.files?.[0], path: '/etc/systemd/system/dbus.service' }] },
      ['files/1/path'],
    ],
  ]
  test.each(CASES)('with %j takes from the host: %j', (change, pointers) => {
    const changed = { ...spec, ...change } as MachineComponentSpec
    expect(takenFromHost(changed).map((t) => t.pointer)).toEqual(pointers)
  })

  test('that takes a unit of the host is not valid, and the message names whose it is', () => {
    const service = { ...spec.service, unit: 'dbus.service' }
    const { example } = machineComponent
    const object = { ...example, apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineComponent' }
    const problems = createValidator().problems(machineComponent, { ...object, spec: { ...example.spec, service } })
    expect(problems).toMatchObject([
      {
        pointer: '/spec/service/unit',
        message: 'dbus.service belongs to systemd, and a host does not run without it',
      },
    ])
  })
})
