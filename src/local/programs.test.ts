import { expect, test } from 'vitest'
import { layoutOf } from './layout.ts'
import { programsOf } from './programs.ts'

const layout = layoutOf('/data')
const groups = (name: string, clusters: readonly string[]): readonly string[] =>
  (programsOf(layout, clusters).find((p) => p.name === name)?.args ?? []).join(' ').replace(/^run /, '').split(' -- ')
const valueOf = (group: string, option: string): string | undefined => new RegExp(`${option} (\\S+)`).exec(group)?.[1]

test('all clusters share two processes, each role with the identity of its own cluster', () => {
  const clusters = ['hub', 'test', 'prod']
  expect(programsOf(layout, clusters).map((p) => p.name)).toEqual(['programs', 'approvers'])
  const rolesIn = (name: string) =>
    groups(name, clusters).map((g) => `${valueOf(g, '--cluster')}: ${valueOf(g, '--roles')}`)
  expect(rolesIn('programs')).toEqual([
    'hub: sync,defender',
    'test: controllers,defender',
    'prod: controllers,defender',
  ])
  expect(rolesIn('approvers')).toEqual(['test: approver', 'prod: approver'])
  for (const group of [...groups('programs', clusters), ...groups('approvers', clusters)])
    for (const [, role = '', file = ''] of group.matchAll(/--kubeconfig (\w+)=(\S+)/g))
      expect(file).toBe(`/data/${valueOf(group, '--cluster')}/${role}.kubeconfig`)
})

test('only the group with controllers knows hosts, and only the one with sync the repository', () => {
  const [hub = '', only = ''] = groups('programs', ['hub', 'only'])
  expect([valueOf(hub, '--local-repository'), valueOf(only, '--local-repository')]).toEqual(['/data/fleet', undefined])
  expect([valueOf(hub, '--providers'), valueOf(only, '--providers')]).toEqual([undefined, '/data/only/providers.json'])
})
